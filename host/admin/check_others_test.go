package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A server that was silent once is not asked for the rows of the next job, and is named once. So a check of
// many jobs does not wait for it again and again.
func TestCheckAsksASilentServerOnce(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	all[2].rows = []trace.Row{rowAt(1_000, 0, 1, trace.Succeeded, "")}
	all[1].broken = &host.Error{Code: host.Internal, Msg: "the history is broken"}
	counts := []int{}
	all[0].disk.checkBy = func(ctx context.Context, others RowsElsewhere) {
		for range 3 {
			counts = append(counts, len(others(ctx, "report", -1, 2_000)))
		}
	}
	_, unread, err := as(operator.RoleViewer).CheckHistory(t.Context(), CheckWanted{})
	if err != nil || !slices.Equal(counts, []int{1, 1, 1}) || len(unread) != 1 || !strings.Contains(unread[0], all[1].at) {
		t.Errorf("%v rows, %q, %v", counts, unread, err)
	}
	if n := all[1].asked.Load(); n != 1 {
		t.Errorf("the silent server was asked %d times", n)
	}
	if n := all[2].asked.Load(); n != 1 {
		t.Errorf("the other one was asked %d times", n)
	}
}

// A check of many jobs asks each server once, and job by job only if there are too many rows.
func TestCheckAsksForAllJobsAtOnce(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	for i, one := range all[1:] {
		for _, name := range []string{"daily", "report"} {
			r := rowAt(int64(1_000+i), 0, 1, trace.Succeeded, "its log")
			r.Job = name
			one.rows = append(one.rows, r)
		}
	}
	counts := map[string]int{}
	all[0].disk.checkBy = func(ctx context.Context, others RowsElsewhere) {
		for _, name := range []string{"daily", "report", "never"} {
			for _, r := range others(ctx, name, -1, 2_000) {
				if r.Job != name || r.Log != "" {
					t.Errorf("for %s: %+v", name, r)
				}
				counts[name]++
			}
		}
	}
	for _, tt := range []struct{ most, asked int }{{4, 1}, {3, 1 + 3}} { // 3: two rows of a job still fit
		clear(counts)
		all[0].h.mostRows = tt.most
		before := all[1].asked.Load()
		_, unread, err := as(operator.RoleViewer).CheckHistory(t.Context(), CheckWanted{})
		if err != nil || !answering(unread) || counts["daily"] != 2 || counts["report"] != 2 || counts["never"] > 0 {
			t.Errorf("of %d rows: %v, %q, %v", tt.most, counts, unread, err)
		}
		if n := all[1].asked.Load() - before; n != int64(tt.asked) {
			t.Errorf("for %d rows a server was asked %d times, not %d", tt.most, n, tt.asked)
		}
	}
}

// If the request for all jobs returns too many rows, it has no consequences: servers that failed in it are
// asked again, job by job.
func TestCheckForgetsAQuestionOfTooMuch(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	for i := range 4 {
		r := rowAt(int64(1_000+i), 0, 1, trace.Succeeded, "")
		r.Job = []string{"daily", "report"}[i%2]
		all[1].rows = append([]trace.Row{r}, all[1].rows...)
	}
	all[2].rows = []trace.Row{rowAt(1_500, 0, 1, trace.Succeeded, "")}
	all[2].vague = &host.Error{Code: host.Internal, Msg: "that is too much"}
	all[0].h.mostRows = 3
	count := 0
	all[0].disk.checkBy = func(ctx context.Context, others RowsElsewhere) {
		count = len(others(ctx, "daily", -1, 2_000)) + len(others(ctx, "report", -1, 2_000))
	}
	_, unread, err := as(operator.RoleViewer).CheckHistory(t.Context(), CheckWanted{})
	if err != nil || !answering(unread) || count != 5 {
		t.Errorf("%d rows, %q, %v", count, unread, err)
	}
}

// After a death or a freeze, the history of the dead server and that of the server that took its run over can
// have the same row. The check gets it once, as the history that knows more has it.
func TestCheckGetsARowOfTwoServersOnce(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	ended, taken := rowAt(1_000, 0, 1, trace.Succeeded, ""), rowAt(2_000, 0, 1, trace.TakenOver, "")
	known := taken
	taken.End, taken.TaskID = 0, ""
	all[1].rows = []trace.Row{taken, ended}
	all[2].rows = []trace.Row{rowAt(2_000, 0, 2, trace.Succeeded, ""), known, rowAt(1_000, 0, 1, trace.TakenOver, "")}
	for _, want := range []CheckWanted{{}, {Job: "report"}} {
		var got []string
		all[0].disk.checkBy = func(ctx context.Context, others RowsElsewhere) {
			for _, r := range others(ctx, "report", -1, 3_000) {
				got = append(got, fmt.Sprintf("%s/%d %s until %d", r.Run, r.Attempt, r.State, r.End))
			}
		}
		_, unread, err := as(operator.RoleViewer).CheckHistory(t.Context(), want)
		if all := []string{"1000/1 succeeded until 1001", "2000/1 taken_over until 2001", "2000/2 succeeded until 2001"}; err != nil || !answering(unread) || !slices.Equal(got, all) {
			t.Errorf("job %q: %q, %q, %v", want.Job, got, unread, err)
		}
	}
}

// A check ignores rows of another job than the requested one.
func TestCheckTakesRowsOfItsJobAlone(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	stray := rowAt(1_000, 0, 1, trace.Succeeded, "")
	stray.Job = "other"
	all[1].strays = []trace.Row{stray}
	all[1].rows = []trace.Row{rowAt(900, 0, 1, trace.Succeeded, "")}
	if _, unread, err := as(operator.RoleViewer).CheckHistory(t.Context(), CheckWanted{Job: "report"}); err != nil || !answering(unread) {
		t.Fatalf("%q, %v", unread, err)
	}
	if rows := all[0].disk.checked; len(rows) != 1 || rows[0].Instant != 900 {
		t.Errorf("%+v", rows)
	}
}

// When the time for asking is over, the answer has the known rows and names the other servers.
func TestAskingHasAnEnd(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	all[0].h.checkTime, all[0].h.doctorTime = 0, 0
	names := func(unread []string) bool {
		text := strings.Join(unread, " ")
		return len(unread) == 2 && strings.Contains(text, all[1].at) && strings.Contains(text, all[2].at)
	}
	c := as(operator.RoleAdmin)
	found, unread, err := c.CheckHistory(t.Context(), CheckWanted{Job: "report"})
	if err != nil || len(found) != 1 || !names(unread) {
		t.Errorf("check: %+v, %q, %v", found, unread, err)
	}
	d, err := c.Doctor(t.Context(), host.Options{})
	if err != nil || len(d.Jobs) != 1 || !names(d.Unread) {
		t.Errorf("doctor: %+v, %v", d, err)
	}
}
