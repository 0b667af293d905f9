package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

const (
	// smallCompile is the maximum memory, in bytes, of a small compilation.
	smallCompile = 32 << 20
	// maxOvertakes is how many small compilations may begin while a large one waits.
	// It allows a server to start that many modules first. Without a limit, a stream
	// of small modules would delay the large one forever.
	maxOvertakes = 1000
)

// compileQueue schedules compilations so that all together stay within their memory,
// and small ones never wait for large ones. As many small ones as there are
// processors run at a time, and one large one. Waiting compilations have not read
// their module yet.
type compileQueue struct {
	memory  uint64 // bytes for all compilations
	small   uint64 // maximum bytes of a small one
	workers int    // small ones that run at a time

	mu        sync.Mutex // guards the fields below
	running   int        // running small ones
	large     bool       // a large one is running
	waiting   [2][]*compileTurn
	overtakes int // small ones begun while a large one waits
}

// compileTurn is a waiting compilation.
type compileTurn struct{ ready chan struct{} }

// lane is an index of compileQueue.waiting.
type lane int

const (
	smallLane lane = iota
	largeLane
)

// compileMemory returns the memory for all compilations, in bytes: the configured
// amount, or nine tenths of the heap. Estimates are twice the real use of most
// modules, so the server itself has more left.
func compileMemory(asked int64, heap uint64) uint64 {
	if asked > 0 {
		return uint64(asked)
	}
	return cmp.Or(heap/10*9, defaultBudget/2) // 0 if unknown
}

// newCompileQueue returns a queue for compilations that may take that many bytes together.
func newCompileQueue(memory uint64) *compileQueue {
	workers := runtime.GOMAXPROCS(0)
	// At most an eighth of the memory is for small compilations, of which one runs per worker.
	return &compileQueue{memory: memory, small: min(smallCompile, memory/8/uint64(workers)), workers: workers}
}

// maxSingle returns the maximum memory of one compilation, in bytes.
func (q *compileQueue) maxSingle() uint64 { return q.memory - q.small*uint64(q.workers) }

// mayNotFit reports whether a compilation may need more memory than there is. need is
// an estimate for the worst code; normal code takes half.
func (q *compileQueue) mayNotFit(need uint64) bool { return need > q.maxSingle() }

// checkMemory returns a refusal if a compilation does not fit into the server's memory
// even if it takes only half of its estimate.
func (q *compileQueue) checkMemory(need uint64) error {
	if need/2 <= q.maxSingle() {
		return nil
	}
	return q.tooBigRefusal(need)
}

const tooBigHint = "build it optimised for size, split it into several smaller modules, or give the server more memory"

// tooBigRefusal refuses a module whose compilation may need that many bytes.
func (q *compileQueue) tooBigRefusal(need uint64) *Refusal {
	return &Refusal{
		Reason:  TooBig,
		Problem: fmt.Sprintf("compiling the module takes up to %d bytes of memory; this server has %d for that", need, q.maxSingle()),
		Hint:    tooBigHint,
	}
}

// meteringRefusal refuses a module whose metering alone takes too much memory.
func (q *compileQueue) meteringRefusal() *Refusal {
	return &Refusal{
		Reason:  TooBig,
		Problem: fmt.Sprintf("metering the module takes more than the %d bytes of memory that this server has for compiling", q.maxSingle()),
		Hint:    tooBigHint,
	}
}

// memoryOf returns how many bytes a compilation of a lane may take.
func (q *compileQueue) memoryOf(lane lane) uint64 {
	if lane == smallLane {
		return q.small
	}
	return q.maxSingle()
}

// laneOf returns the lane of a compilation that takes need bytes of memory.
func (q *compileQueue) laneOf(need uint64) lane {
	if need > q.small {
		return largeLane
	}
	return smallLane
}

// enter waits until a compilation of a lane may begin. The caller must call leave when
// the compilation has ended. The only error is that of ctx.
func (q *compileQueue) enter(ctx context.Context, lane lane) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t := &compileTurn{ready: make(chan struct{})}
	q.mu.Lock()
	q.waiting[lane] = append(q.waiting[lane], t)
	q.beginNext()
	q.mu.Unlock()
	select {
	case <-t.ready:
		return sync.OnceFunc(func() { q.leave(lane) }), nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting[lane], t)
	if i >= 0 {
		q.waiting[lane] = slices.Delete(q.waiting[lane], i, i+1)
		q.beginNext() // a large one may have waited for it
	}
	q.mu.Unlock()
	if i < 0 { // granted at the same moment
		q.leave(lane)
	}
	return nil, ctx.Err()
}

// leave ends a compilation of a lane, and lets others begin.
func (q *compileQueue) leave(lane lane) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if lane == smallLane {
		q.running--
	} else {
		q.large = false
	}
	q.beginNext()
}

// beginNext starts waiting compilations. The caller holds q.mu.
func (q *compileQueue) beginNext() {
	begin := func(lane lane) {
		close(q.waiting[lane][0].ready)
		q.waiting[lane] = slices.Delete(q.waiting[lane], 0, 1)
	}
	for len(q.waiting[smallLane]) > 0 && q.running < q.workers {
		q.running++
		if len(q.waiting[largeLane]) > 0 {
			q.overtakes++
		}
		begin(smallLane)
	}
	// A large one lets small ones go first, but only so many.
	if q.large || len(q.waiting[largeLane]) == 0 || len(q.waiting[smallLane]) > 0 && q.overtakes < maxOvertakes {
		return
	}
	q.large, q.overtakes = true, 0
	begin(largeLane)
}
