package sandbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func runOfJob(ctx context.Context, name string) *run { return &run{ctx: ctx, job: name} }

// Other claims overtake a claim that does not fit for one second, and not
// afterwards.
func TestBudgetPassesForASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		one, large := someRun(t.Context()), runOfJob(t.Context(), "large")
		wantDecided(t, taking(b, one, 5), nil)
		waits := taking(b, large, 9)
		time.Sleep(time.Second - 1)
		passes := someRun(t.Context())
		wantDecided(t, taking(b, passes, 2), nil)
		time.Sleep(1 * time.Nanosecond)
		late, grows := someRun(t.Context()), one
		behind := taking(b, late, 1)
		wantWaiting(t, behind)
		wantDecided(t, taking(b, grows, 1), nil) // a run with memory must be able to continue
		b.returnMemory(6)
		b.endRun(one)
		wantWaiting(t, behind) // it fits, but memory is reserved
		b.returnMemory(2)
		b.endRun(passes)
		wantDecided(t, waits, nil)
		wantDecided(t, behind, nil)
	})
}

// A claim to grow is overtaken by others that fit if otherwise no run could
// continue: a claim that fits is not refused.
func TestBudgetBreaksADeadlockWithAClaimThatFits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		one, two := someRun(t.Context()), someRun(t.Context())
		wantDecided(t, taking(b, one, 2), nil)
		wantDecided(t, taking(b, two, 2), nil)
		waits := taking(b, one, 8)
		time.Sleep(2 * time.Second)
		wantDecided(t, taking(b, two, 1), nil)
		comes := taking(b, someRun(t.Context()), 1)
		wantWaiting(t, comes) // memory is reserved for the claim to grow
		wantWaiting(t, waits)
		b.returnMemory(3)
		b.endRun(two)
		wantDecided(t, waits, nil)
		b.returnMemory(10)
		b.endRun(one)
		wantDecided(t, comes, nil)
	})
}

// A job of 512 MiB begins within two seconds beside jobs of 8 MiB that come
// and go without end.
func TestBudgetServesALargeJobAmongSmallOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		b := newBudget(600 * mib)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var all sync.WaitGroup
		for k := range 100 {
			all.Go(func() {
				for time.Sleep(time.Duration(k) * 9 * time.Millisecond); ctx.Err() == nil; {
					small := runOfJob(t.Context(), fmt.Sprint("small ", k))
					if err := b.takeMemory(small, 8*mib); err != nil {
						t.Error(err)
						return
					}
					time.Sleep(700 * time.Millisecond)
					b.returnMemory(8 * mib)
					b.endRun(small)
				}
			})
		}
		time.Sleep(3 * time.Second)
		asked := time.Now()
		r := runOfJob(t.Context(), "large")
		if err := b.takeMemory(r, 512*mib); err != nil {
			t.Error(err)
		}
		if waited := time.Since(asked); waited == 0 || waited > 2*time.Second {
			t.Errorf("it waited %s", waited)
		}
		b.returnMemory(512 * mib)
		b.endRun(r)
		cancel()
		all.Wait()
	})
}

// A large claim that can never be met, because other guests never return their memory,
// does not block everyone: not for long, not repeatedly, and not by giving up and coming
// back.
func TestBudgetServesOthersAfterAFailedReservation(t *testing.T) {
	t.Parallel()
	for name, lasts := range map[string]time.Duration{"waits": time.Hour, "comes again": 4 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBudget(10)
				wantDecided(t, taking(b, someRun(t.Context()), 5), nil) // never returns it
				ctx, end := context.WithTimeout(t.Context(), time.Hour)
				defer end()
				var all sync.WaitGroup
				for range 5 {
					all.Go(func() {
						for ctx.Err() == nil {
							within, cancel := context.WithTimeout(ctx, lasts)
							if err := b.takeMemory(runOfJob(within, "large"), 9); err == nil {
								t.Error("there was room")
							}
							cancel()
						}
					})
				}
				var waited, most time.Duration
				for begin := time.Now(); time.Since(begin) < 50*time.Minute; time.Sleep(time.Second) {
					r, asked := runOfJob(t.Context(), "neighbour"), time.Now()
					if err := b.takeMemory(r, 1); err != nil {
						t.Fatal(err)
					}
					waited += time.Since(asked)
					most = max(most, time.Since(asked))
					b.returnMemory(1)
					b.endRun(r)
				}
				if most > reserveTime || waited > 50*time.Minute/20 {
					t.Errorf("a neighbour waited up to %s, %s in all", most, waited)
				}
				end()
				all.Wait()
			})
		})
	}
}

// Guests of one job that never return memory leave a quarter to other jobs, and the
// claims behind them reserve no memory that a job without a guest needs.
func TestBudgetLeavesAQuarterToFirstGuests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(16)
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if b.takeMemory(runOfJob(ctx, "sleeper"), 4) == nil {
					<-ctx.Done()
				}
			})
		}
		synctest.Wait()
		for range 100 { // the waiting ones are soon overdue
			r := runOfJob(t.Context(), "neighbour")
			wantDecided(t, taking(b, r, 3), nil)
			wantDecided(t, taking(b, r, 1), nil) // its only guest may grow, too
			second := runOfJob(t.Context(), "neighbour")
			if b.tryTakeMemory(second, 1) {
				t.Error("a further guest got some of the quarter")
			}
			b.returnMemory(4)
			b.endRun(r)
			time.Sleep(300 * time.Millisecond)
		}
		end()
		all.Wait()
	})
	// A job that grows gets no more of it than one that begins.
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(16)
		one, two := runOfJob(t.Context(), "grows"), runOfJob(t.Context(), "grows")
		wantDecided(t, taking(b, one, 6), nil)
		wantDecided(t, taking(b, two, 5), nil)
		grows := taking(b, two, 2)
		wantWaiting(t, grows)
		wantDecided(t, taking(b, someRun(t.Context()), 5), nil)
		b.returnMemory(6)
		b.endRun(one)
		wantDecided(t, grows, nil)
	})
}

// A claim of a further guest becomes the claim of a first guest when the other guest
// ends. A second after that, memory is reserved for it as for any other, however long it
// has waited before.
func TestBudgetKeepsRoomForOneThatBecomesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(16)
		endless, neighbour := someRun(t.Context()), runOfJob(t.Context(), "job")
		wantDecided(t, taking(b, endless, 6), nil)
		wantDecided(t, taking(b, neighbour, 1), nil)
		waits := taking(b, runOfJob(t.Context(), "job"), 10)
		time.Sleep(time.Minute)
		small := someRun(t.Context())
		wantDecided(t, taking(b, small, 5), nil)
		b.returnMemory(1)
		b.endRun(neighbour)
		time.Sleep(overtakeTime)
		wantWaiting(t, taking(b, someRun(t.Context()), 1)) // memory is reserved
		b.returnMemory(5)
		b.endRun(small)
		wantDecided(t, waits, nil)
	})
}

// Waiting runs of a job alternate with those of other jobs.
func TestBudgetTakesTurnsBetweenJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		first := someRun(t.Context())
		wantDecided(t, taking(b, first, 10), nil)
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		come := func(name string, n int) {
			for k := range n {
				all.Go(func() {
					r := runOfJob(t.Context(), name)
					if err := b.takeMemory(r, 10); err != nil {
						t.Error(err)
					}
					mu.Lock()
					order = append(order, fmt.Sprint(name, k))
					mu.Unlock()
					b.returnMemory(10)
					b.endRun(r)
				})
				synctest.Wait()
				time.Sleep(time.Millisecond)
			}
		}
		come("many", 200)
		come("few", 2)
		come("one", 1)
		b.returnMemory(10)
		b.endRun(first)
		all.Wait()
		if want := []string{"many0", "few0", "one0", "many1", "few1", "many2", "many3"}; !slices.Equal(order[:len(want)], want) {
			t.Errorf("the order is %q, want %q", order[:len(want)], want)
		}
		if len(order) != 203 || order[202] != "many199" {
			t.Errorf("%d runs, the last is %s", len(order), order[len(order)-1])
		}
	})
}

// wait is a claim that TestBudgetKeepsItsPromises has observed.
type wait struct {
	from, to   time.Time
	grows, got bool
	inVain     bool // a reservation ended before it without a grant
}

// reservationFailed reports whether a reservation has failed.
func (b *budget) reservationFailed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.growing.forOnlyGuests.failures+b.growing.forFurtherGuests.failures+b.starting.forOnlyGuests.failures+b.starting.forFurtherGuests.failures > 0
}

// In random sequences no more memory is granted than exists, every run gets its
// memory in the end, and no new run overtakes a claim that is overdue, unless its
// reservation failed.
func TestBudgetKeepsItsPromises(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			b := newBudget(1 << (4 + seed%8))
			var mu sync.Mutex
			var waits []wait
			check := func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				if b.used > b.limit {
					t.Errorf("seed %d: %d of %d used", seed, b.used, b.limit)
				}
			}
			// take records how long it waited.
			take := func(r *run, need uint64, grows bool) bool {
				from := time.Now()
				err := b.takeMemory(r, need)
				check()
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, wait{from, time.Now(), grows, err == nil, b.reservationFailed()})
				return err == nil
			}
			var all sync.WaitGroup
			for k := range 60 {
				begin := time.Duration(random.IntN(5000)) * time.Millisecond
				need := 1 + random.Uint64N(1+random.Uint64N(b.limit))
				lasts := time.Duration(random.IntN(900)) * time.Millisecond
				more := make([]uint64, random.IntN(3))
				for i := range more {
					more[i] = random.Uint64N(max(b.limit/4, 2))
				}
				impatient := random.IntN(5) == 0
				all.Go(func() {
					time.Sleep(begin)
					ctx := t.Context()
					if impatient {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, lasts)
						defer cancel()
					}
					r := runOfJob(ctx, fmt.Sprint(k))
					if !take(r, need, false) {
						return
					}
					had := need
					for _, n := range more {
						time.Sleep(lasts)
						if take(r, n, true) {
							had += n
						}
					}
					time.Sleep(lasts)
					b.returnMemory(had)
					b.endRun(r)
				})
			}
			all.Wait() // a lost wake-up ends the test
			if b.used != 0 || b.active != 0 || b.hasClaims() {
				t.Errorf("seed %d: %d used, %d active", seed, b.used, b.active)
			}
			for _, y := range waits {
				for _, x := range waits {
					before := x.grows || x.from.Before(y.from)
					if y.got && !y.grows && !y.inVain && before && x.to.After(y.to) && y.to.Sub(x.from) > time.Second && x.from.Before(y.to) {
						t.Errorf("seed %d: %v passed %v", seed, y, x)
					}
				}
			}
		})
	}
}
