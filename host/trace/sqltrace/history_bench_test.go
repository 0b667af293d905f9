package sqltrace_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

var benchRows = flag.Int("rows", 1_000_000, "rows of the history that BenchmarkHistory reads")

// BenchmarkHistory reads a page of 100 rows by each filter that has an index, from a history of
// 1,000 jobs. It reports the 95th percentile.
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
			middle := fillBench(b, s, loc, name)
			b.Logf("%d rows written in %s", *benchRows, time.Since(begun).Round(time.Second))
			const aJob = "job-500"
			item, none := 1, 999
			for _, c := range []struct {
				name   string
				filter sqltrace.Filter
			}{
				{"all", sqltrace.Filter{}},
				{"job", sqltrace.Filter{Job: aJob}},
				{"large_job", sqltrace.Filter{Job: "job-0"}},
				{"state", sqltrace.Filter{State: trace.Failed}},
				{"rare_state", sqltrace.Filter{State: trace.Lost}},
				{"cause", sqltrace.Filter{Cause: trace.Schedule}},
				{"rare_cause", sqltrace.Filter{Cause: trace.Failover}},
				{"large_job_and_rare_cause", sqltrace.Filter{Job: "job-0", Cause: trace.Failover}},
				{"job_and_state", sqltrace.Filter{Job: aJob, State: trace.Failed}},
				{"large_job_and_rare_state", sqltrace.Filter{Job: "job-0", State: trace.Lost}},
				{"job_and_item", sqltrace.Filter{Job: aJob, Item: &item}},
				{"large_job_and_no_item", sqltrace.Filter{Job: "job-0", Item: &none}},
				{"run", sqltrace.Filter{Job: middle.Job, Item: &middle.Item, Run: middle.Run}},
				{"times", sqltrace.Filter{Since: middle.Instant, Until: middle.Instant + 3_600_000}},
				{"deep_page", sqltrace.Filter{Cursor: sqltrace.After(&middle)}},
				{"deep_page_of_a_job", sqltrace.Filter{Job: "job-0", Cursor: sqltrace.After(&middle)}},
			} {
				b.Run(c.name, func(b *testing.B) {
					var took []time.Duration
					for n := 0; b.Loop(); n++ {
						f := c.filter
						if f.Job == aJob { // another job each time
							f.Job = fmt.Sprintf("job-%d", 1+n*37%999)
						}
						begun := time.Now()
						if _, err := s.Query(b.Context(), f); err != nil {
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

// benchBlock is how many rows are made one by one; the jobs of benchRow repeat after them.
const benchBlock = 70_000

// fillBench writes the rows of benchRow, and returns a row in the middle of them. After the
// first block, the database makes copies of it at later instants.
func fillBench(b *testing.B, s *sqltrace.Store, loc sqltrace.Location, name string) trace.Row {
	b.Helper()
	for rows := range slices.Chunk(firstRows(), 1000) {
		if err := s.Write(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
	}
	db, err := loc.DB()
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // the settings apply to one connection
	ask := func(statement string) {
		if _, err := db.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(statement, err)
		}
	}
	text, indexes := "TEXT", map[string]string{}
	switch name {
	case "SQLite":
		ask("PRAGMA synchronous = OFF")
		ask("PRAGMA cache_size = -1000000")
		indexes = takeIndexes(b, db, "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
	case "PostgreSQL":
		indexes = takeIndexes(b, db, "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'wasmjobd_run' AND indexname NOT LIKE '%pkey'")
	case "MariaDB":
		text = "CHAR"
	}
	ask("CREATE TEMPORARY TABLE first_block AS SELECT * FROM wasmjobd_run")
	copies := (*benchRows - 1) / benchBlock
	for n := 1; n <= copies; n++ {
		ask(fmt.Sprintf("INSERT INTO wasmjobd_run (job, item, run, attempt, instant_ms, last_ms, instants, cause, state, reason, instance, task_id, start_ms, end_ms, result, error, digest, fence) "+
			"SELECT job, item, CAST(instant_ms + %[1]d AS %[2]s), attempt, instant_ms + %[1]d, last_ms, instants, cause, state, reason, instance, task_id, start_ms, end_ms, result, error, digest, fence "+
			"FROM first_block", n*benchBlock/4*1000, text))
	}
	for _, statement := range indexes {
		ask(statement)
	}
	if name == "PostgreSQL" { // it would do so by itself a minute later
		ask("ANALYZE wasmjobd_run")
	}
	middle := benchRow(benchBlock / 2)
	middle.Instant += int64(copies / 2 * benchBlock / 4 * 1000)
	middle.Run = strconv.FormatInt(middle.Instant, 10)
	return middle
}

// takeIndexes drops the indexes that a query returns, and returns the statements that create
// them, which is quicker after filling.
func takeIndexes(b *testing.B, db *sql.DB, query string) map[string]string {
	b.Helper()
	indexes := map[string]string{}
	rows, err := db.QueryContext(b.Context(), query)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, made string
		if err := rows.Scan(&name, &made); err != nil {
			b.Fatal(err)
		}
		indexes[name] = made
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		b.Fatal(err)
	}
	for name := range indexes {
		if _, err := db.ExecContext(b.Context(), "DROP INDEX "+name); err != nil {
			b.Fatal(err)
		}
	}
	return indexes
}

func firstRows() []trace.Row {
	rows := make([]trace.Row, min(*benchRows, benchBlock))
	for i := range rows {
		rows[i] = benchRow(i)
	}
	return rows
}

// benchRow returns a row by its position in the history. A tenth of the rows belong to one job,
// one in a hundred failed, and of ten thousand one is lost and another one has the cause
// failover.
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
