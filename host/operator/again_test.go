package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// history implements History with the rows of a pile.
func (p *pile) history(_ context.Context, name string, item *int, upTo time.Time) ([]trace.Row, []string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []trace.Row
	for _, r := range p.rows {
		if r.Job == name && (item == nil || r.Item == *item) && r.Instant <= upTo.UnixMilli() {
			all = append(all, r)
		}
	}
	return all, nil, nil
}

// of returns the rows of a run, as item, attempt, cause and state.
func (p *pile) of(run string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, r := range p.rows {
		if r.Run == run {
			all = append(all, fmt.Sprintf("%d/%d %s %s", r.Item, r.Attempt, r.Cause, r.State))
		}
	}
	slices.Sort(all)
	return all
}

// Single items run on request, and the failed items of a run are retried under the run's own id: the
// guest gets the instant of the schedule, and the history has the next attempt.
func TestItemsRunOnTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		var broken atomic.Bool
		var seen atomic.Int64
		broken.Store(true)
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 4}}, Sinks: []trace.Sink{rows},
			Runner: host.Func(func(_ context.Context, c job.Call) job.Outcome {
				if c.Item > 1 && broken.Load() {
					return job.Outcome{Verdict: job.Failure, Error: "broken"}
				}
				seen.Store(c.Scheduled.UnixMilli())
				return job.Outcome{Verdict: job.OK}
			}),
		})
		<-h.Ready()
		o := operate(t, reg)
		o.Recall(rows.history)
		ctx := t.Context()
		time.Sleep(70 * time.Second) // past one instant
		at := time.Now().Truncate(time.Minute)
		run := strconv.FormatInt(at.UnixMilli(), 10)
		if diff := cmp.Diff([]string{"0/1 schedule succeeded", "1/1 schedule succeeded", "2/1 schedule failed", "3/1 schedule failed"}, rows.of(run)); diff != "" {
			t.Fatal(diff)
		}
		_, err := o.Retry(ctx, "j", run, []int{0})
		wantCode(t, "retry what ended well", err, host.Refused)
		_, err = o.Retry(ctx, "j", run, []int{9})
		wantCode(t, "retry no item of the run", err, host.NotFound)
		_, err = o.Retry(ctx, "j", at.UTC().Format(time.RFC3339), []int{0})
		wantCode(t, "retry by its time what ended well", err, host.Refused)
		_, err = o.Retry(ctx, "j", "17", nil)
		wantCode(t, "retry no run", err, host.NotFound)

		broken.Store(false)
		asked, err := o.Retry(ctx, "j", "", nil)
		if diff := cmp.Diff(Asked{Run: run, Items: []int{2, 3}}, asked); diff != "" || err != nil {
			t.Errorf("retry: %s, error %v", diff, err)
		}
		time.Sleep(5 * time.Second)
		want := []string{"0/1 schedule succeeded", "1/1 schedule succeeded", "2/1 schedule failed", "2/2 retry succeeded", "3/1 schedule failed", "3/2 retry succeeded"}
		if diff := cmp.Diff(want, rows.of(run)); diff != "" {
			t.Error(diff)
		}
		if seen.Load() != at.UnixMilli() {
			t.Errorf("the guest was told that it runs for %s, not for %s", time.UnixMilli(seen.Load()), at)
		}
		_, err = o.Retry(ctx, "j", run, nil)
		wantCode(t, "retry again", err, host.Refused)

		chosen, err := o.TriggerItems(ctx, "j", ItemsWanted{Items: []int{3, 1}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if diff := cmp.Diff([]string{"1/1 trigger succeeded", "3/1 trigger succeeded"}, rows.of(chosen.Run)); diff != "" {
			t.Error(diff)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// Without the name of a run, Retry takes the newest run that has an item to retry: not a later one that a retry has
// mended.
func TestRetryTakesTheNewestRunThatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		var mended atomic.Bool
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 1}}, Sinks: []trace.Sink{rows},
			Runner: host.Func(func(context.Context, job.Call) job.Outcome {
				if mended.Load() {
					return job.Outcome{Verdict: job.OK}
				}
				return job.Outcome{Verdict: job.Failure, Error: "broken"}
			}),
		})
		<-h.Ready()
		o := operate(t, reg)
		o.Recall(rows.history)
		time.Sleep(130 * time.Second) // past two instants
		mended.Store(true)
		second := time.Now().Truncate(time.Minute)
		for _, at := range []time.Time{second, second.Add(-time.Minute)} {
			want := Asked{Run: strconv.FormatInt(at.UnixMilli(), 10), Items: []int{0}}
			asked, err := o.Retry(t.Context(), "j", "", nil)
			if diff := cmp.Diff(want, asked); diff != "" || err != nil {
				t.Errorf("retry: %s, error %v", diff, err)
			}
			time.Sleep(5 * time.Second)
		}
		_, err := o.Retry(t.Context(), "j", "", nil)
		wantCode(t, "retry when all is mended", err, host.Refused)
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// Requests for items that cannot run are refused, and leave nothing behind.
func TestItemsThatCannotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Shards: 3}}, Sinks: []trace.Sink{rows}, Runner: host.Func(fine),
		})
		<-h.Ready()
		o := operate(t, reg)
		ctx := t.Context()
		time.Sleep(time.Second)
		for _, c := range []struct {
			what  string
			items []int
			code  host.Code
		}{
			{"none", nil, host.Invalid},
			{"below zero", []int{-1}, host.Invalid},
			{"twice", []int{1, 1}, host.Invalid},
			{"no item", []int{0, 3}, host.Refused},
			{"too many", slices.Collect(func(yield func(int) bool) {
				for i := range maxAsked + 1 {
					if !yield(i) {
						return
					}
				}
			}), host.Invalid},
		} {
			_, err := o.TriggerItems(ctx, "j", ItemsWanted{Items: c.items})
			wantCode(t, c.what, err, c.code)
		}
		if err := errors.Join(o.SetItem(ctx, "j", 1, true), o.Pause(ctx, "j", PauseTerms{})); err != nil {
			t.Fatal(err)
		}
		_, err := o.TriggerItems(ctx, "j", ItemsWanted{Items: []int{0}})
		wantCode(t, "paused", err, host.Refused)
		if err := o.Resume(ctx, "j"); err != nil {
			t.Fatal(err)
		}
		_, err = o.TriggerItems(ctx, "j", ItemsWanted{Items: []int{0, 1}})
		wantCode(t, "disabled", err, host.Refused)
		time.Sleep(time.Minute)
		if n := rows.count("j", trace.Succeeded); n != 0 {
			t.Errorf("%d items ran", n)
		}
		if _, err = o.TriggerItems(ctx, "j", ItemsWanted{Items: []int{0, 2}}); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if n := rows.count("j", trace.Succeeded); n != 2 {
			t.Errorf("%d items ran, of 2 that were asked for", n)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}
