package schedule

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// recorder keeps the ticks that it receives.
type recorder struct {
	mu    sync.Mutex // guards ticks, which the ticker's workers fill
	ticks []Tick
}

func (b *recorder) put(k Tick) {
	b.mu.Lock()
	b.ticks = append(b.ticks, k)
	b.mu.Unlock()
}

// drain returns the ticks since the last call as seconds after the start of
// synctest's clock, each as at<-prev, with - for no prev.
func (b *recorder) drain(start time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, k := range b.ticks {
		prev := "-"
		if !k.Prev.IsZero() {
			prev = fmt.Sprint(k.Prev.Sub(start).Seconds())
		}
		all = append(all, fmt.Sprintf("%v<%s", k.At.Sub(start).Seconds(), prev))
	}
	b.ticks = nil
	return all
}

// running starts a ticker in a synctest bubble. stop stops it and waits for its end.
func running(t *testing.T, k *Ticker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- k.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// pass advances the bubble's time, and returns when everything is idle.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func expect(t *testing.T, b *recorder, start time.Time, want ...string) {
	t.Helper()
	if got := b.drain(start); !slices.Equal(got, want) {
		t.Errorf("got ticks %v, want %v", got, want)
	}
}

func TestTickerDeliversScheduledInstants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		k := NewTicker(2)
		var a, b recorder
		k.Set("a", parse(t, "*/2 * * * * ?", "UTC"), start, a.put) // before Run
		stop := running(t, k)
		pass(1500 * time.Millisecond)
		k.Set("b", parse(t, "*/3 * * * * ?", "UTC"), time.Now(), b.put)
		pass(5 * time.Second)
		expect(t, &a, start, "2<-", "4<2", "6<4")
		expect(t, &b, start, "3<-", "6<3")
		if got := k.Next("a"); !got.Equal(start.Add(8 * time.Second)) {
			t.Errorf("a waits for %v", got)
		}

		k.Set("a", parse(t, "*/5 * * * * ?", "UTC"), time.Now(), a.put) // replaced: no prev
		k.Remove("b")
		k.Remove("nobody")
		pass(10 * time.Second)
		expect(t, &a, start, "10<-", "15<10")
		expect(t, &b, start)
		if got := k.Next("b"); !got.IsZero() {
			t.Errorf("a removed entry waits for %v", got)
		}
		stop()
		pass(10 * time.Second)
		expect(t, &a, start)
	})
}

func TestTickerIsPunctual(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := NewTicker(4)
		var late atomic.Int64
		var n atomic.Int64
		for i := range 1000 {
			k.Set(fmt.Sprint(i), parse(t, "* * * * * ?", "UTC"), time.Now(), func(k Tick) {
				n.Add(1)
				late.Add(int64(time.Since(k.At)))
			})
		}
		stop := running(t, k)
		pass(10 * time.Second)
		stop()
		if n.Load() != 10_000 || late.Load() != 0 {
			t.Errorf("%d ticks, %d ns late in all", n.Load(), late.Load())
		}
	})
}

func TestTickerEndsWithTheSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now() // midnight, 1 January 2000
		k := NewTicker(1)
		var b recorder
		k.Set("never", parse(t, "0 0 0 31 2 ?", "UTC"), start, b.put)
		k.Set("once", parse(t, "3 0 0 1 1 ? 2000", "UTC"), start, b.put)
		k.Set("stuck", stuck{start.Add(2 * time.Second)}, start, b.put)
		stop := running(t, k)
		pass(time.Hour)
		stop()
		expect(t, &b, start, "2<-", "3<-")
	})
}

func TestTickerCatchesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		pass(10 * time.Second)
		k := NewTicker(2)
		stop := running(t, k)
		synctest.Wait()
		var few, many, huge recorder
		// Instants that have passed when the entry is added are delivered at once.
		k.Set("few", parse(t, "*/4 * * * * ?", "UTC"), start, few.put)
		k.Set("many", parse(t, "* * * * * ?", "UTC"), start.Add(-995*time.Second), many.put)
		k.Set("huge", parse(t, "* * * * * ?", "UTC"), start.Add(-991*time.Second), huge.put)
		synctest.Wait()
		expect(t, &few, start, "4<-", "8<4")
		expect(t, &many, start, "10<-") // 1005 were missed
		if got := huge.drain(start); len(got) != 1 {
			t.Errorf("%d ticks for 1001 missed instants", len(got))
		}
		k.Set("huge", parse(t, "* * * * * ?", "UTC"), start.Add(-990*time.Second), huge.put)
		synctest.Wait()
		if got := huge.drain(start); len(got) != 1000 || got[0] != "-989<-" || got[999] != "10<9" {
			t.Errorf("%d ticks for 1000 missed instants", len(got))
		}
		pass(time.Second)
		expect(t, &many, start, "11<10")
		stop()

		// A ticker that stood still for a day delivers only the newest instant.
		pass(24 * time.Hour)
		stop = running(t, k)
		synctest.Wait()
		expect(t, &many, start, "86411<-")
		stop()
	})
}

// TestTickerSurvivesClockJumps calls the loop's step directly, because no clock in a test
// goes backward.
func TestTickerSurvivesClockJumps(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-01-01T00:00:00Z")
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	workers := startWorkers(2)
	defer workers.stop()
	k := NewTicker(2)
	var a, b recorder
	k.Set("a", parse(t, "*/10 * * * * ?", "UTC"), start, a.put)
	fire := func(seconds int) { k.fire(t.Context(), workers, at(seconds)) }

	fire(9)
	expect(t, &a, start)
	fire(10)
	expect(t, &a, start, "10<-")
	fire(60) // forward
	expect(t, &a, start, "20<10", "30<20", "40<30", "50<40", "60<50")
	// Backward, and an entry that comes before the loop has noticed.
	k.Set("b", parse(t, "*/15 * * * * ?", "UTC"), at(7), b.put)
	for s := 8; s < 65; s++ {
		fire(s)
	}
	expect(t, &a, start) // nothing twice
	expect(t, &b, start, "15<-", "30<15", "45<30", "60<45")
	fire(70)
	expect(t, &a, start, "70<60")
	fire(30 * daySeconds) // far forward: one tick, without Prev
	expect(t, &a, start, fmt.Sprintf("%v<-", float64(30*daySeconds)))
}

func TestTickerRunsOnlyOnceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := NewTicker(0)
		stop := running(t, k)
		synctest.Wait()
		if err := k.Run(t.Context()); err == nil {
			t.Error("a second Run is allowed")
		}
		stop()
	})
}

func TestNoDeliverAfterRemove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := NewTicker(4)
		stop := running(t, k)
		everySecond := parse(t, "* * * * * ?", "UTC")
		const keys, hammers, repetitions = 48, 4, 200
		var floor [keys]atomic.Int64 // no earlier repetition may deliver
		var ticks atomic.Int64
		var wg sync.WaitGroup
		for h := range hammers {
			wg.Go(func() {
				for repetition := range int64(repetitions) {
					for i := h; i < keys; i += hammers {
						// Overdue at once, so that deliveries meet the changes.
						k.Set(fmt.Sprint(i), everySecond, time.Now().Add(-2*time.Second), func(Tick) {
							if f := floor[i].Load(); repetition < f {
								t.Errorf("entry %d of repetition %d delivers after repetition %d began", i, repetition, f)
							}
							ticks.Add(1)
						})
						floor[i].Store(repetition)
						if repetition%3 == 0 {
							k.Remove(fmt.Sprint(i))
							floor[i].Store(repetition + 1)
						}
					}
					if repetition%20 == 0 {
						<-time.After(time.Second)
					}
				}
			})
		}
		wg.Wait()
		for i := range keys {
			k.Remove(fmt.Sprint(i))
		}
		before := ticks.Load()
		pass(5 * time.Second)
		if ticks.Load() != before || before == 0 {
			t.Errorf("%d ticks, then %d", before, ticks.Load())
		}
		stop()
		if len(k.entries) != 0 || len(k.buckets) != 0 || len(k.overdue.list) != 0 {
			t.Errorf("%d entries and %d buckets are left, %d overdue", len(k.entries), len(k.buckets), len(k.overdue.list))
		}
	})
}
