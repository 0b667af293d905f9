package operator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// seenCalls notes what guests get, and makes their first attempts fail.
type seenCalls struct {
	mu  sync.Mutex
	all []job.Call
}

func (s *seenCalls) run(_ context.Context, c job.Call) job.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, c)
	if c.Attempt == 1 {
		return job.Outcome{Verdict: job.Failure, Error: "broken"}
	}
	return job.Outcome{Verdict: job.OK}
}

func (s *seenCalls) calls() []job.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// kept returns the rows of a pile, in the order of their arrival.
func (p *pile) kept() []trace.Row {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.rows)
}

// A run that was requested with a parameter has it in place of the job's. Its retry has it, too, and the
// instant of the first attempt. The next run has the job's parameter again.
func TestRunsWithAParameterOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows, seen := embedded.Memory(), &pile{}, &seenCalls{}
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Sinks: []trace.Sink{rows}, Runner: host.Func(seen.run),
			Jobs: []job.Config{{Name: "j", Shards: 2, Param: "full"}},
		})
		<-h.Ready()
		o := operate(t, reg)
		o.Recall(rows.history)
		ctx := t.Context()
		time.Sleep(time.Second)
		param := `the "first" day` + "\nof <2026>"
		asked, err := o.TriggerItems(ctx, "j", ItemsWanted{Items: []int{1}, Param: &param})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, err := o.Retry(ctx, "j", asked.Run, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := o.TriggerItems(ctx, "j", ItemsWanted{Items: []int{1}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		calls := seen.calls()
		if len(calls) != 3 {
			t.Fatalf("%d runs, want 3", len(calls))
		}
		first, again, plain := calls[0], calls[1], calls[2]
		if first.Config.Param != param || again.Config.Param != param || plain.Config.Param != "full" {
			t.Errorf("guests got the parameters %q, %q and %q", first.Config.Param, again.Config.Param, plain.Config.Param)
		}
		if !again.Scheduled.Equal(first.Scheduled) || again.Attempt != 2 || again.RunID != first.RunID {
			t.Errorf("attempt %d of %s has the instant %s, and the first of %s %s", again.Attempt, again.RunID, again.Scheduled, first.RunID, first.Scheduled)
		}
		var kept []string
		for _, r := range rows.kept() {
			if r.Run == asked.Run && r.Instant == first.Scheduled.UnixMilli() {
				kept = append(kept, string(r.State)+" "+r.Param)
			}
		}
		if diff := cmp.Diff([]string{"failed " + param, "succeeded " + param}, kept); diff != "" {
			t.Error(diff)
		}
		deeds, err := o.Audit(ctx, AuditFilter{Job: "j", Verb: "job"})
		if err != nil || len(deeds) != 3 || !strings.Contains(deeds[2].Detail, `param="the \"first\" day\nof <2026>"`) || !strings.Contains(deeds[1].Detail, "param=") || strings.Contains(deeds[0].Detail, "param=") {
			t.Errorf("the audit has %+v, %v", deeds, err)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// Invalid parameters are refused, and so is any parameter if a server would ignore it.
func TestParametersThatAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: javatest.Name, Shards: 1}}, Sinks: []trace.Sink{rows}, Runner: host.Func(fine),
		})
		<-h.Ready()
		o := operate(t, reg)
		ctx := t.Context()
		time.Sleep(time.Second)
		for what, param := range map[string]string{"empty": "", "too long": strings.Repeat("ä", MaxParam/2) + "x", "with NUL": "a\x00b", "no UTF-8": "\xff"} {
			_, err := o.TriggerItems(ctx, javatest.Name, ItemsWanted{Items: []int{0}, Param: &param})
			wantCode(t, what, err, host.Invalid)
		}
		longest := strings.Repeat("ä", MaxParam/2)
		member := javatest.Node("wasm", "members", "10.0.0.1@-@a")
		javatest.Put(t, o.session, registry.Set, member, `{"v":1}`)
		_, err := o.TriggerItems(ctx, javatest.Name, ItemsWanted{Items: []int{0}, Param: &longest})
		wantCode(t, "an older server", err, host.Refused)
		if _, err := o.TriggerItems(ctx, javatest.Name, ItemsWanted{Items: []int{0}}); err != nil {
			t.Errorf("without a parameter, beside an older server: %v", err)
		}
		time.Sleep(time.Minute)
		javatest.Put(t, o.session, registry.Set, member, `{"v":1,"params":true}`)
		if _, err := o.TriggerItems(ctx, javatest.Name, ItemsWanted{Items: []int{0}, Param: &longest}); err != nil {
			t.Errorf("the longest parameter: %v", err)
		}
		time.Sleep(time.Minute)
		if n := rows.count(javatest.Name, trace.Succeeded); n != 2 {
			t.Errorf("%d runs, want 2", n)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// Two requests for an item with different parameters are not merged: the second is refused while
// the first waits.
func TestParametersAreNotMerged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		goOn := make(chan struct{})
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Shards: 1}}, Sinks: []trace.Sink{rows},
			Runner: host.Func(func(context.Context, job.Call) job.Outcome {
				<-goOn
				return job.Outcome{Verdict: job.OK}
			}),
		})
		<-h.Ready()
		o := operate(t, reg)
		ctx := t.Context()
		time.Sleep(time.Second)
		for k, param := range []string{"runs", "waits", "too many"} {
			_, err := o.TriggerItems(ctx, "j", ItemsWanted{Items: []int{0}, Param: &param})
			if k < 2 && err != nil {
				t.Errorf("request %q: %v", param, err)
			}
			if k == 2 {
				wantCode(t, param, err, host.Refused)
			}
			time.Sleep(time.Second)
		}
		r, err := o.Job(ctx, "j")
		if err != nil || r.Items[0].Run.Param != "runs" {
			t.Errorf("the open run is %+v, %v", r.Items[0].Run, err)
		}
		close(goOn)
		time.Sleep(time.Minute)
		var params []string
		for _, r := range rows.kept() {
			params = append(params, r.Param)
		}
		if diff := cmp.Diff([]string{"runs", "waits"}, params); diff != "" {
			t.Error(diff)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A key makes the same request run once. A request for another item, or with another parameter, is
// another request.
func TestKeysOfRunsWithAParameter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Shards: 2}}, Sinks: []trace.Sink{rows}, Runner: host.Func(fine),
		})
		<-h.Ready()
		o := operate(t, reg)
		ctx := t.Context()
		east, west := "east", "west"
		var runs []string
		for _, c := range []struct {
			after time.Duration
			want  ItemsWanted
			again bool
		}{
			{time.Second, ItemsWanted{Items: []int{0}, Param: &east, Key: "k"}, false},
			{time.Minute, ItemsWanted{Items: []int{0}, Param: &east, Key: "k"}, true},
			{time.Minute, ItemsWanted{Items: []int{0}, Param: &west, Key: "k"}, false},
			{time.Minute, ItemsWanted{Items: []int{0, 1}, Param: &east, Key: "k"}, false},
			{time.Minute, ItemsWanted{Items: []int{0}, Key: "k"}, false},
			{25 * time.Hour, ItemsWanted{Items: []int{0}, Param: &east, Key: "k"}, false},
		} {
			time.Sleep(c.after)
			asked, err := o.TriggerItems(ctx, "j", c.want)
			if err != nil || asked.Again != c.again {
				t.Errorf("%+v: %+v, %v", c.want, asked, err)
			}
			if c.again != slices.Contains(runs, asked.Run) {
				t.Errorf("%+v is run %s; before it: %s", c.want, asked.Run, runs)
			}
			runs = append(runs, asked.Run)
		}
		time.Sleep(time.Minute)
		if n := rows.count("j", trace.Succeeded); n != 6 || runs[0] != runs[1] {
			t.Errorf("%d runs of items, want 6: %s", n, runs)
		}
		_, err := o.TriggerItems(ctx, "j", ItemsWanted{Items: []int{0}, Key: "ü"})
		wantCode(t, "no key", err, host.Invalid)
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}
