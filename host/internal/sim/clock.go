package sim

import "container/heap"

// The queue of what is to happen, in virtual microseconds.

const (
	millisecond = int64(1000)
	second      = 1000 * millisecond
)

type event struct {
	at, seq int64
	do      func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*q = old[:len(old)-1]
	return e
}

// at schedules do; what is scheduled for the same instant happens in order.
func (w *World) at(t int64, do func()) {
	w.seq++
	heap.Push(&w.queue, event{at: max(t, w.now), seq: w.seq, do: do})
}

func (w *World) after(d int64, do func()) { w.at(w.now+d, do) }

// between draws from [lo, hi).
func (w *World) between(lo, hi int64) int64 { return lo + w.rng.Int64N(max(hi-lo, 1)) }

func (w *World) chance(p float64) bool { return w.rng.Float64() < p }

func heapPop(q *events) event { return heap.Pop(q).(event) }
