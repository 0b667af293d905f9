package runner

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Ends share a message only if nothing else comes between them.
func TestEndsThatComeTogether(t *testing.T) {
	t.Parallel()
	end := func(i int) protocol.End {
		return protocol.End{Entry: protocol.Entry{Item: i}, State: protocol.Succeeded}
	}
	var b inbox
	for i := range 3 {
		b.ended(end(i))
	}
	b.put(syncedMessage{})
	b.ended(end(3))
	messages, _, more := b.takeAll(nil)
	if !more {
		t.Fatal("there are no messages")
	}
	b.ended(end(4)) // in a new message: the loop handles the others already
	rest, _, _ := b.takeAll(nil)
	var got [][]int
	for _, l := range append(messages, rest...) {
		var items []int
		if ends, ok := l.(*endsMessage); ok {
			for _, e := range ends.ends {
				items = append(items, e.Entry.Item)
			}
		}
		got = append(got, items)
	}
	if d := cmp.Diff([][]int{{0, 1, 2}, nil, {3}, {4}}, got); d != "" {
		t.Error(d)
	}
}

func TestLateLoopLosesNoFire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		hold := make(chan struct{})
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Clock = &stutter{metronome: &metronome{}, hold: hold}
		})
		time.Sleep(70 * time.Second)
		close(hold)
		time.Sleep(15 * time.Second)
		s.stop(t)
		got := rows.states()
		if got[trace.Missed] == 0 {
			t.Errorf("states %v, want a gap", got)
		}
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, reg.Close())
	})
}

// stutter holds ticks back and then delivers them all at once.
type stutter struct {
	*metronome
	hold chan struct{}
}

func (c *stutter) Set(cron string, from time.Time, tick func(at, prev int64)) error {
	type pair struct{ at, prev int64 }
	var held []pair
	return c.metronome.Set(cron, from, func(at, prev int64) {
		held = append(held, pair{at, prev})
		select {
		case <-c.hold:
		default:
			return
		}
		for _, p := range held {
			tick(p.at, p.prev)
		}
		held = nil
	})
}

func TestInboxKeepsTheNewestTick(t *testing.T) {
	t.Parallel()
	b := &inbox{}
	b.due(10, 0)
	b.due(30, 20)
	b.due(20, 10) // late, and older
	_, tick, more := b.takeAll(nil)
	if !more || tick.At != 30 || tick.Prev != 20 {
		t.Errorf("tick %+v, want that of 30", tick)
	}
	if _, tick, more = b.takeAll(nil); more {
		t.Errorf("tick %+v is there twice", tick)
	}
}

// A member that has ended may wait long for a guest, while events of its job still come.
func TestClosedInboxKeepsNothing(t *testing.T) {
	t.Parallel()
	var b inbox
	more := func() {
		b.Event(registry.Event{Kind: registry.Changed, Path: "/a"})
		b.ended(protocol.End{})
		b.due(1, 0)
	}
	more()
	b.close()
	more()
	b.HealthChanged(session.Lost)
	if len(b.messages) > 0 || b.tick.At != 0 {
		t.Errorf("it keeps %d messages and the tick %+v", len(b.messages), b.tick)
	}
	if !b.fence.takeStrike() {
		t.Error("the loss of the session ends no guests")
	}
	if b.Event(registry.Event{Kind: registry.Ended}); !b.fence.closed {
		t.Error("the end of the session ends no guests")
	}
}
