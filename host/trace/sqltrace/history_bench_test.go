package sqltrace_test

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

var benchRows = flag.Int("rows", 1_000_000, "rows of the history that BenchmarkHistory reads")

// BenchmarkHistory reads a page of 100 rows by each filter that has an index, from a
// history of 1,000 jobs. It reports the 95th percentile.
func BenchmarkHistory(b *testing.B) {
	for _, name := range []string{"SQLite", "PostgreSQL", "MariaDB"} {
		empty := databases()[name]
		b.Run(name, func(b *testing.B) {
			loc := empty(b)
			s, err := sqltrace.Open(b.Context(), loc)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			begun := time.Now()
			for from := 0; from < *benchRows; from += 1000 {
				rows := make([]trace.Row, 1000)
				for i := range rows {
					rows[i] = benchRow(from + i)
				}
				if err := s.Write(b.Context(), rows); err != nil {
					b.Fatal(err)
				}
			}
			if name == "PostgreSQL" { // which does so by itself, a minute later
				db, err := loc.DB()
				if err == nil {
					_, err = db.ExecContext(b.Context(), "ANALYZE wasmjobd_run")
				}
				if err = errors.Join(err, db.Close()); err != nil {
					b.Fatal(err)
				}
			}
			b.Logf("%d rows written in %s", *benchRows, time.Since(begun).Round(time.Second))
			item, none := 1, 999
			middle := benchRow(*benchRows / 2)
			for _, c := range []struct {
				name   string
				filter sqltrace.Filter
			}{
				{"all", sqltrace.Filter{}},
				{"job", sqltrace.Filter{Job: "job-500"}},
				{"large_job", sqltrace.Filter{Job: "job-0"}},
				{"state", sqltrace.Filter{State: trace.Failed}},
				{"rare_state", sqltrace.Filter{State: trace.Lost}},
				{"cause", sqltrace.Filter{Cause: trace.Schedule}},
				{"rare_cause", sqltrace.Filter{Cause: trace.Failover}},
				{"large_job_and_rare_cause", sqltrace.Filter{Job: "job-0", Cause: trace.Failover}},
				{"job_and_state", sqltrace.Filter{Job: "job-500", State: trace.Failed}},
				{"large_job_and_rare_state", sqltrace.Filter{Job: "job-0", State: trace.Lost}},
				{"job_and_item", sqltrace.Filter{Job: "job-500", Item: &item}},
				{"large_job_and_no_item", sqltrace.Filter{Job: "job-0", Item: &none}},
				{"run", sqltrace.Filter{Job: middle.Job, Item: &middle.Item, Run: middle.Run}},
				{"times", sqltrace.Filter{Since: middle.Instant, Until: middle.Instant + 3_600_000}},
				{"deep_page", sqltrace.Filter{Cursor: sqltrace.After(&middle)}},
				{"deep_page_of_a_job", sqltrace.Filter{Job: "job-0", Cursor: sqltrace.After(&middle)}},
			} {
				b.Run(c.name, func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						begun := time.Now()
						if _, err := s.Query(b.Context(), c.filter); err != nil {
							b.Fatal(err)
						}
						took = append(took, time.Since(begun))
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms<=100")
				})
			}
		})
	}
}

// benchRow is the row at a place of the history. A tenth of the rows are of one job,
// one in a hundred failed, and of ten thousand one is lost and another one of a failover.
func benchRow(n int) trace.Row {
	r := run(fmt.Sprintf("job-%d", n/7%1000), n%4, 1_700_000_000_000+int64(n/4)*1000)
	if n%10 == 0 {
		r.Job = "job-0"
	}
	r.TaskID, r.Digest, r.Result = r.Job+"@-@0,1,2,3@-@READY@-@10.0.0.1@-@7", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "imported 317 rows"
	if n%10_009 == 0 {
		r.Cause = trace.Failover
	}
	switch {
	case n%10_007 == 0:
		r.State = trace.Lost
	case n%101 == 0:
		r.State, r.Error = trace.Failed, "no such table"
	}
	return r
}
