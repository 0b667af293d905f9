package trace_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/wasmjob/wasmjob/host/trace"
)

// world is a schedule with a history that accounts for every instant.
type world struct {
	rng      *rand.Rand
	instants []int64
	items    []int
	rows     []trace.Row
}

func (w *world) each(after, upTo int64, yield func(int64) bool) {
	i, found := slices.BinarySearch(w.instants, after)
	if found {
		i++
	}
	for ; i < len(w.instants) && w.instants[i] <= upTo; i++ {
		if !yield(w.instants[i]) {
			return
		}
	}
}

func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 7))}
	at := int64(1_000)
	for range 3 + w.rng.IntN(40) {
		at += 2 + w.rng.Int64N(30)
		w.instants = append(w.instants, at)
	}
	for i := range 1 + w.rng.IntN(4) {
		w.items = append(w.items, i)
		w.history(i)
	}
	return w
}

// history writes valid rows for every instant of an item.
func (w *world) history(i int) {
	for at := 0; at < len(w.instants); {
		if w.rng.IntN(4) == 0 {
			n := 1 + w.rng.IntN(min(5, len(w.instants)-at))
			w.rows = append(w.rows, item(i, gap(w.instants[at], w.instants[at+n-1], int64(n))))
			at += n
			continue
		}
		w.attempts(item(i, run(w.instants[at])))
		if w.rng.IntN(5) == 0 {
			w.attempts(item(i, trigger("t"+strconv.Itoa(at), w.instants[at]-w.rng.Int64N(3), 1, trace.Succeeded)))
		}
		at++
	}
}

func (w *world) attempts(r trace.Row) {
	ends := []trace.State{trace.Succeeded, trace.Failed, trace.TimedOut, trace.Cancelled, trace.Skipped, trace.Interrupted, trace.Lost}
	others := []trace.State{trace.TakenOver, trace.Retried}
	last := 1 + max(0, w.rng.IntN(6)-3)
	for n := 1; n <= last; n++ {
		r.Attempt, r.State = n, others[w.rng.IntN(len(others))]
		if n == last {
			r.State = ends[w.rng.IntN(len(ends))]
		}
		w.rows = append(w.rows, r)
	}
}

// mutate breaks one row, and describes how.
func (w *world) mutate() string {
	i := w.rng.IntN(len(w.rows))
	r := &w.rows[i]
	switch w.rng.IntN(4) {
	case 0:
		if r.Cause == trace.Trigger && r.Attempt == 1 && r.State.Final() {
			return "" // no row shows that there was a trigger
		}
		w.rows = slices.Delete(w.rows, i, i+1)
		return "dropped"
	case 1:
		again := *r
		if r.Count == 0 && w.rng.IntN(2) == 0 && r.State.Final() {
			again.Attempt++
		}
		w.rows = append(w.rows, again)
		return "doubled"
	case 2:
		if r.Count == 0 {
			return ""
		}
		return w.shift(r)
	default:
		if r.Count == 0 {
			if r.State.Final() && (r.Cause != trace.Trigger || r.Attempt > 1) {
				r.State = trace.Retried
				return "left dangling"
			}
			return ""
		}
		r.Count += int64(1 - 2*w.rng.IntN(2))
		return "miscounted"
	}
}

// shift moves an end of a gap to a neighbouring instant or just off an instant, and adapts the
// rest of the row.
func (w *world) shift(r *trace.Row) string {
	first, _ := slices.BinarySearch(w.instants, r.Instant)
	last, _ := slices.BinarySearch(w.instants, r.Last)
	switch w.rng.IntN(5) {
	case 0:
		if first == 0 {
			return ""
		}
		first--
	case 1:
		if first == last {
			return ""
		}
		first++
	case 2:
		if first == last {
			return ""
		}
		last--
	case 3:
		if last == len(w.instants)-1 {
			return ""
		}
		last++
	default:
		r.Last++
		return "ends off the schedule"
	}
	*r = item(r.Item, gap(w.instants[first], w.instants[last], int64(last-first+1)))
	return "shifted"
}

func (w *world) check(t *testing.T) trace.Report {
	t.Helper()
	end := w.instants[len(w.instants)-1]
	got, err := trace.Check(trace.CheckInput{Job: "j", Items: w.items, Instants: w.each,
		From: 0, To: end, Start: fixed(0), Open: fixed(end), Rows: seq(w.rows)})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func check(t *testing.T, seed uint64) (mutation string) {
	t.Helper()
	w := newWorld(seed)
	if got := w.check(t); len(got.Findings) > 0 {
		t.Fatalf("seed %d: a legal history gives %s", seed, brief(got.Findings))
	}
	mutation = w.mutate()
	if got := w.check(t); mutation != "" && len(got.Findings) == 0 {
		t.Fatalf("seed %d: a row was %s and nothing was found", seed, mutation)
	}
	return mutation
}

func TestCheckFindsEveryMutation(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(5_000) {
		seen[check(t, seed)]++
	}
	for _, m := range []string{"dropped", "doubled", "shifted", "ends off the schedule", "left dangling", "miscounted"} {
		if seen[m] < 20 {
			t.Errorf("%q was tried %d times only", m, seen[m])
		}
	}
}

// A valid history is valid in any window.
func TestCheckOfAnyWindow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2_000) {
		w := newWorld(seed)
		end := w.instants[len(w.instants)-1]
		from := w.rng.Int64N(end)
		to := from + w.rng.Int64N(end-from+10)
		strict := w.rng.IntN(2) == 0
		in := trace.CheckInput{Job: "j", Items: w.items, Instants: w.each, From: from, To: to, Rows: seq(w.rows)}
		if strict {
			in.Start, in.Open = fixed(from), fixed(to)
		}
		got, err := trace.Check(in)
		if err != nil || len(got.Findings) > 0 {
			t.Fatalf("seed %d, (%d, %d], strict %v: %s %v", seed, from, to, strict, brief(got.Findings), err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []uint64{0, 1, 99} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { check(t, seed) })
}

// BenchmarkCheck checks a million rows of ten items.
func BenchmarkCheck(b *testing.B) {
	const n, items = 100_000, 10
	rows := func(yield func(trace.Row, error) bool) {
		for at := int64(1); at <= n; at++ {
			for i := range items {
				if !yield(item(i, run(at*10)), nil) {
					return
				}
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		got, err := trace.Check(trace.CheckInput{Job: "j", Items: []int{0, 1, 2}, Instants: every, To: n * 10, Rows: rows,
			Start: fixed(0), Open: fixed(n * 10)})
		if err != nil || len(got.Findings) > 0 || got.Rows != n*items || got.Instants != n {
			b.Fatal(brief(got.Findings), err)
		}
	}
}
