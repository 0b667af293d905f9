package sandbox

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// compiling requests a turn of a queue; the channel receives its leave function.
func compiling(t *testing.T, q *compileQueue, need uint64) <-chan func() {
	t.Helper()
	turn := make(chan func(), 1)
	go func() {
		leave, err := q.enter(t.Context(), q.laneOf(need))
		if err != nil {
			t.Error(err)
		}
		turn <- leave
	}()
	synctest.Wait()
	return turn
}

func began(turn <-chan func()) bool { return len(turn) == 1 }

const testLarge = 100 << 20

func testQueue() *compileQueue {
	q := newCompileQueue(1 << 30)
	q.workers = 2
	return q
}

// Large modules are compiled together with small ones, but only when no small one
// waits.
func TestSmallModulesAreCompiledFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := testQueue()
		first, second := compiling(t, q, 1), compiling(t, q, q.small)
		third := compiling(t, q, 1)
		large, next := compiling(t, q, testLarge), compiling(t, q, testLarge)
		if !began(first) || !began(second) || began(third) || began(large) {
			t.Errorf("began: %v %v, and then %v %v", began(first), began(second), began(third), began(large))
		}
		(<-first)()
		synctest.Wait()
		if !began(third) || !began(large) || began(next) {
			t.Errorf("a place is free: third %v, large %v, next large %v", began(third), began(large), began(next))
		}
		(<-second)()
		small := compiling(t, q, 1)
		if !began(small) {
			t.Error("a small one waits beside a large one")
		}
		(<-large)()
		synctest.Wait()
		if !began(next) {
			t.Error("the next large one does not begin")
		}
	})
}

// A stream of small modules does not delay a large one forever.
func TestALargeModuleIsCompiledInTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := testQueue()
		busy := []<-chan func(){compiling(t, q, 1), compiling(t, q, 1), compiling(t, q, 1)}
		large := compiling(t, q, testLarge)
		n := 0
		for ; !began(large) && n < 2*maxOvertakes; n++ {
			busy = append(busy, compiling(t, q, 1))
			(<-busy[0])()
			busy = busy[1:]
			synctest.Wait()
		}
		if n < maxOvertakes/2 || n > maxOvertakes+10 {
			t.Errorf("%d small ones began before it", n)
		}
		for _, turn := range busy {
			(<-turn)()
		}
	})
}

func TestACancelledCompilationLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := testQueue()
		first := compiling(t, q, testLarge)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := q.enter(ctx, largeLane)
			gone <- err
		}()
		synctest.Wait()
		last := compiling(t, q, testLarge)
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		(<-first)()
		synctest.Wait()
		if !began(last) || len(q.waiting[largeLane]) != 0 {
			t.Errorf("the one behind: %v; %d wait", began(last), len(q.waiting[largeLane]))
		}
	})
}

// A compilation that no caller waits for does not begin.
func TestACompilationWithoutCallersDoesNotBegin(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := testQueue()
	for range 100 {
		if leave, err := q.enter(ctx, smallLane); err == nil {
			leave()
			t.Fatal("it has begun")
		}
	}
}

// A running compilation cannot be interrupted. A new caller for the same module
// waits for its end, because both would use the same record on disk.
func TestAModuleIsCompiledOnceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Options{CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		e.queue.workers = 4
		binary, goOn := (&builder{}).job(i32(3)), make(chan struct{})
		reads := 0
		from := Source{digestOf(binary), int64(len(binary)), func() ([]byte, error) {
			reads++
			<-goOn
			return binary, nil
		}}
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan error)
			go func() {
				_, err := e.LoadFrom(ctx, from)
				gone <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		loaded := make(chan error)
		go func() {
			m, err := e.LoadFrom(t.Context(), from)
			if err == nil {
				m.Close()
			}
			loaded <- err
		}()
		synctest.Wait()
		if reads != 1 {
			t.Errorf("%d compilations have begun", reads)
		}
		close(goOn)
		if err := <-loaded; err != nil {
			t.Error(err)
		}
		if len(e.compiling) != 0 {
			t.Errorf("%d are said to go on", len(e.compiling))
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A compilation that never fits is refused with its need and the limit. One that may fit
// is doubtful. All that run at the same time fit together.
func TestMemoryOfCompilations(t *testing.T) {
	t.Parallel()
	for _, memory := range []uint64{48 << 20, 256 << 20, 8 << 30} {
		q := newCompileQueue(memory)
		if all := q.maxSingle() + q.small*uint64(q.workers); all > memory || q.small == 0 {
			t.Errorf("%d bytes: at a time %d, small ones %d", memory, all, q.small)
		}
		if most := q.maxSingle(); q.mayNotFit(most) || !q.mayNotFit(most+1) || q.checkMemory(2*most+1) != nil {
			t.Errorf("%d bytes: of %d", memory, most)
		}
		var r *Refusal
		if err := q.checkMemory(2*q.maxSingle() + 2); !errors.As(err, &r) || r.Reason != TooBig {
			t.Errorf("beyond all hope: %v", err)
		}
	}
}

// Metering may not take more memory than its lane has, in the small lane or alone.
func TestMemoryOfMetering(t *testing.T) {
	t.Parallel()
	b := &builder{}
	for range 20 {
		b.fn("", "", 0, bytes.Repeat(op(0xfc, 11, 0), 20_000)) // without operands, which the engine checks later
	}
	binary := b.job(i32(0))
	for memory, want := range map[int64]string{16 << 20: "metering the module takes more", 256 << 20: "function "} {
		e, err := New(Options{CompileMemory: memory})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Load(t.Context(), binary)
		wantRefusal(t, err, TooBig, want)
		_, err = e.Inspect(binary)
		wantRefusal(t, err, TooBig, want)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
