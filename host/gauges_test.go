package host

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
)

// tally counts events by their kind and content.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *tally) count(e *Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	what := e.Kind
	if e.Row != nil {
		what += " " + string(e.Row.State)
	}
	c.seen[what]++
}

// Count misses no event, however many come at once, and receives rows that the history does not
// take.
func TestCountReceivesAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c tally
		const items = 5_000 // more than the queue of Observe holds
		gate := make(chan struct{})
		h, stop := start(t, Options{
			Runner: Func(fine), Count: c.count, Observe: func(Event) { <-gate },
			Jobs: []job.Config{{Name: "a", Cron: "0 0/5 * * * ?", Shards: items}}, Sinks: []trace.Sink{refusing{}},
		})
		<-h.Ready()
		time.Sleep(6 * time.Minute) // until the host has retried to store the rows
		g := h.Gauges()
		if g.Jobs != 1 || g.Leads != 1 || g.Owned != items || !g.Started || g.Draining || g.Unstored != items || g.Unwritable != 1 {
			t.Errorf("%+v", g)
		}
		c.mu.Lock()
		for _, what := range []string{EventStart, EventEnd, EventRow + " succeeded"} {
			if c.seen[what] != items {
				t.Errorf("%d of %q, want %d", c.seen[what], what, items)
			}
		}
		if c.seen[EventReshard] != 1 {
			t.Errorf("%d reshards", c.seen[EventReshard])
		}
		c.mu.Unlock()
		close(gate)
		_ = stop() // its error says that some rows were not stored
	})
}

// refusing is a history that takes no rows.
type refusing struct{}

func (refusing) Write(context.Context, []trace.Row) error { return errors.New("away") }

func TestGaugesBeforeAndAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		h, stop := start(t, Options{Jobs: []job.Config{{Name: "a", Cron: "0 * * * * ?", Shards: 1}}, DrainTimeout: time.Hour, Runner: Func(func(ctx context.Context, c job.Call) job.Outcome {
			<-hold
			return fine(ctx, c)
		})})
		<-h.Ready()
		time.Sleep(time.Minute)
		done := make(chan error)
		go func() { done <- stop() }()
		synctest.Wait()
		if g := h.Gauges(); !g.Draining {
			t.Errorf("%+v does not drain", g)
		}
		if err := h.Alive(t.Context()); err != nil {
			t.Errorf("while it drains: %v", err)
		}
		close(hold)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := h.Alive(t.Context()); err != nil {
			t.Errorf("after its end: %v", err)
		}
	})
	h, err := New(Options{Runner: Func(fine), Jobs: []job.Config{{Name: "a", Shards: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if g := h.Gauges(); g.Started || g.Loading != 1 {
		t.Errorf("before it runs: %+v", g)
	}
}

// A host is alive as long as its loops make turns, and Alive never waits for them.
func TestAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, stop := start(t, Options{Runner: Func(fine), Jobs: []job.Config{{Name: "a", Cron: "* * * * * ?", Shards: 2}}})
		<-h.Ready()
		for range 10 {
			time.Sleep(20 * time.Second)
			if err := h.Alive(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAliveWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, err := New(Options{Runner: Func(fine)})
		if err != nil {
			t.Fatal(err)
		}
		close(h.working) // as if Run had begun
		asked := time.Now()
		wantCode(t, "nobody answers", h.Alive(t.Context()), Internal)
		go func() { <-h.pulse.asked }()
		wantCode(t, "somebody hears and does not answer", h.Alive(t.Context()), Internal)
		if took := time.Since(asked); took != 2*pulsePatience {
			t.Errorf("two answers took %v", took)
		}
	})
}

// A loop that makes no turn for half a minute is stuck, unless the whole process was frozen.
func TestLoopsThatStandStill(t *testing.T) {
	t.Parallel()
	p, now := newPulse(), time.Now()
	for i, step := range []struct {
		after time.Duration
		turns map[string]uint64
		stuck string
	}{
		{0, map[string]uint64{"a": 1, "b": 1}, ""},
		{10 * time.Second, map[string]uint64{"a": 2, "b": 1}, ""},
		{time.Hour, map[string]uint64{"a": 2, "b": 1}, ""},
		{time.Second, map[string]uint64{"a": 2, "b": 2}, ""},
		{10 * time.Second, map[string]uint64{"a": 2, "b": 2}, ""},
		{9 * time.Second, map[string]uint64{"a": 2, "b": 2}, "a"},
		{10 * time.Second, map[string]uint64{"b": 2}, ""}, // nothing waits for a any more
		{10 * time.Second, map[string]uint64{"a": 2, "b": 2}, "b"},
	} {
		now = now.Add(step.after)
		err := p.look(now, step.turns)
		if got := err != nil; got != (step.stuck != "") || got && !strings.HasSuffix(err.Error(), ": "+step.stuck) {
			t.Errorf("step %d: %v, want %q", i, err, step.stuck)
		}
	}
}
