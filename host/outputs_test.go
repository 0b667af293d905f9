package host

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/outputs"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// deafLog is a log that takes lines only while its gate is open.
type deafLog struct {
	slog.Handler
	gate chan struct{}
	said *[]string
}

func (l deafLog) Enabled(context.Context, slog.Level) bool { return true }
func (l deafLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l deafLog) WithGroup(string) slog.Handler            { return l }

func (l deafLog) Handle(_ context.Context, r slog.Record) error {
	<-l.gate
	*l.said = append(*l.said, r.Message)
	return nil
}

// A log or an observer that blocks neither delays a run or its row, nor the end of the host.
// Lost lines and events are counted.
func TestLogAndObserverThatBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, gate := &pile{}, make(chan struct{})
		var said, events []string
		h, err := New(Options{
			Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 2}}, Sinks: []trace.Sink{rows},
			Runner: Func(func(_ context.Context, c job.Call) job.Outcome {
				c.Log.Info("a guest speaks")
				return job.Outcome{Verdict: job.OK, Result: make([]byte, 600<<10)}
			}),
			Log: slog.New(deafLog{gate: gate, said: &said}),
			Observe: func(e Event) {
				<-gate
				events = append(events, e.Kind)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		<-h.Ready()
		time.Sleep(5*time.Minute + 30*time.Second)
		if got := rows.count("j", trace.Succeeded); got != 10 {
			t.Errorf("%d runs, want 10", got)
		}
		if got := h.Jobs()[0].Troubles; !slices.ContainsFunc(got, func(r reason.Reason) bool { return strings.HasPrefix(r.String(), "observer: ") }) {
			t.Errorf("troubles %q, want one of the observer", got)
		}
		close(gate)
		synctest.Wait()
		if got := h.out.Troubles(); len(got) != 0 {
			t.Errorf("troubles %q, want none", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, want := range []string{"a guest speaks", "the observer of runs does not return, so it misses some events", "the observer of runs has returned", "stopping"} {
			if !slices.Contains(said, want) {
				t.Errorf("the log has no %q: %q", want, said)
			}
		}
		if len(events) == 0 || len(events) >= 20 || events[0] != EventStart {
			t.Errorf("events %q, want the first of 20", events)
		}
	})
}

// A host ends even if log and observer do not return, and does not call them afterwards.
func TestNothingIsReportedAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var said []string
		reported := 0
		h, err := New(Options{
			Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 2}}, Runner: Func(fine),
			Log: slog.New(deafLog{gate: gate, said: &said}), Observe: func(Event) { <-gate; reported++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		<-h.Ready()
		time.Sleep(2*time.Minute + time.Second)
		cancel()
		asked := time.Now()
		if err := <-done; err != nil || time.Since(asked) > 2*outputs.Patience {
			t.Errorf("it ended after %v: %v", time.Since(asked), err)
		}
		close(gate)
		synctest.Wait()
		if reported != 1 || len(said) != 1 {
			t.Errorf("after the end %d events were told, and %q was said; want the one of each that was under way", reported, said)
		}
	})
}

// When Run returns, log and observer have received everything.
func TestOutputsAreFlushed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said, events []string
		gate := make(chan struct{})
		close(gate)
		h, err := New(Options{
			Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 1}}, Runner: Func(fine), Log: slog.New(deafLog{gate: gate, said: &said}),
			Observe: func(e Event) {
				time.Sleep(100 * time.Millisecond)
				events = append(events, e.Kind)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		<-h.Ready()
		time.Sleep(time.Minute + time.Millisecond)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !slices.Equal(events, []string{EventStart, EventEnd}) || !slices.Contains(said, "stopping") {
			t.Errorf("events %q, log %q", events, said)
		}
	})
}
