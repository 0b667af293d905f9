package sim

// The queue of events, in virtual microseconds.

const (
	millisecond = int64(1000)
	second      = 1000 * millisecond
)

type event struct {
	at, seq int64
	do      func()
}

// before orders events by time, and those of one time by the order in which they were
// scheduled.
func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// events is a heap with the next event first. It is written by hand, because the heap of
// the standard library boxes every event.
type events []event

// push adds an event. It rises in the heap until the one above comes before it.
func (q *events) push(e event) {
	*q = append(*q, e)
	h := *q
	k := len(h) - 1
	for k > 0 {
		up := (k - 1) / 2
		if h[up].before(&e) {
			break
		}
		h[k] = h[up]
		k = up
	}
	h[k] = e
}

// pop removes and returns the next event. The last one takes its place, and sinks.
func (q *events) pop() event {
	h := *q
	first := h[0]
	last := h[len(h)-1]
	h[len(h)-1] = event{}
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return first
	}
	k := 0
	for {
		kid := 2*k + 1
		if kid >= len(h) {
			break
		}
		if kid+1 < len(h) && h[kid+1].before(&h[kid]) {
			kid++
		}
		if last.before(&h[kid]) {
			break
		}
		h[k] = h[kid]
		k = kid
	}
	h[k] = last
	return first
}

// at schedules do. Functions for the same time run in the order in which they were
// scheduled.
func (w *World) at(t int64, do func()) {
	w.seq++
	w.queue.push(event{at: max(t, w.now), seq: w.seq, do: do})
}

// after schedules do in d microseconds.
func (w *World) after(d int64, do func()) { w.at(w.now+d, do) }

// between draws from [lo, hi).
func (w *World) between(lo, hi int64) int64 { return w.rng.between(lo, hi) }

// chance is true with probability p. It and between draw from the seed.
func (w *World) chance(p float64) bool { return w.rng.chance(p) }
