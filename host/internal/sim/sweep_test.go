package sim

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"
)

// often is the interval between two progress lines.
const often = 10 * time.Second

// sweep simulates a range of seeds.
type sweep struct {
	from, to uint64
	at       uint64 // the next seed
	begun    uint64 // the first one of this run
	start    time.Time
	reported time.Time
	ranges   *seedRanges // nil: results are not stored
	now      seedRange   // the range that this run has done
	before   []uint64    // seeds that broke before this run
	total    Result
}

func newSweep(t *testing.T) *sweep {
	t.Helper()
	s := &sweep{total: Result{Committed: map[string]int64{}}}
	if *kept != "" {
		s.look(t)
	}
	if *from != "" {
		seed, err := strconv.ParseUint(*from, 10, 64)
		if err != nil {
			t.Fatalf("-from: %v", err)
		}
		s.from = seed
	}
	s.to = s.from + *seeds
	s.at = s.from
	if s.ranges != nil {
		s.at, s.before = s.ranges.resume(s.now.tree, s.from, s.to)
		t.Logf("seeds %d to %d; to repeat: make sim FROM=%d SEEDS=%d", s.from, s.to-1, s.from, *seeds)
		if s.at > s.from {
			t.Logf("goes on at %d; broken before that: %d %v", s.at, len(s.before), s.before)
		}
	}
	s.begun, s.now.from, s.now.done = s.at, s.at, s.at
	s.start = time.Now()
	s.reported = s.start
	return s
}

// look finds out which sources these are, and where to begin with them.
func (s *sweep) look(t *testing.T) {
	t.Helper()
	tree, err := sourcesID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.ranges, err = readSeedRanges(*kept); err != nil {
		t.Fatal(err)
	}
	s.now.commit, s.now.tree = commitID(t.Context()), tree
	behind, ok := s.ranges.behind(tree)
	if s.from = behind; !ok {
		s.from = seedOf(s.now.commit, tree)
	}
}

// inOrder simulates seeds on all cores and yields the results in order.
func inOrder(from, to uint64) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		cores := runtime.GOMAXPROCS(0)
		slots := make(chan struct{}, cores)
		waiting := make(chan chan Result, 4*cores) // the limit of results that wait
		go func() {
			defer close(waiting)
			for seed := from; seed < to; seed++ {
				done := make(chan Result, 1)
				waiting <- done
				slots <- struct{}{}
				go func() {
					defer func() { <-slots }()
					done <- simulated(seed)
				}()
			}
		}()
		more := true
		for done := range waiting {
			if r := <-done; more {
				more = yield(r)
			}
		}
	}
}

// simulated is Run with a panic as a breach, so that earlier seeds are reported first.
func simulated(seed uint64) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Result{Seed: seed, Breach: &Breach{Invariant: "panic", Text: fmt.Sprintf("%v\n%s", p, debug.Stack())}}
		}
	}()
	return runAsked(seed, nil)
}

// take adds the result of the next seed.
func (s *sweep) take(t *testing.T, r Result) {
	t.Helper()
	s.total.add(r)
	s.at++
	if b := r.Breach; b != nil {
		t.Errorf("seed %d broke %q (make sim SEEDS=1 FROM=%d LAYOUT=%s tells its end): %s", r.Seed, b.Invariant, r.Seed, *spelled, b)
		s.now.broken = append(s.now.broken, r.Seed)
	}
	if now := time.Now(); now.Sub(s.reported) >= often {
		s.reported = now
		s.keep(t)
		t.Logf("%d of %d seeds, %.1f seeds/s, %d broken", s.at-s.from, s.to-s.from, s.now.rate, len(s.now.broken))
	}
}

// keep stores what this run has done.
func (s *sweep) keep(t *testing.T) {
	t.Helper()
	s.now.done = s.at
	s.now.rate = float64(s.at-s.begun) / time.Since(s.start).Seconds()
	if s.ranges == nil {
		return
	}
	if err := s.ranges.write(s.now); err != nil {
		t.Fatal(err)
	}
}

// end reports the result.
func (s *sweep) end(t *testing.T) {
	t.Helper()
	s.keep(t)
	r := s.total
	t.Logf("%d steps, %d guests, %d refused commits, %d refused late writes, %d quiet instants beside ElasticJob, %.0f steps/s",
		r.Steps, r.Guests, r.Conflicts, r.Refused, r.Exact, float64(r.Steps)/time.Since(s.start).Seconds())
	for _, m := range slices.Sorted(maps.Keys(r.Committed)) {
		t.Logf("%16s %8d", m, r.Committed[m])
	}
	s.covers(t)
	if len(s.now.broken) > 0 {
		var trace bytes.Buffer
		seed := s.now.broken[0]
		func() {
			defer func() { _ = recover() }() // it was reported when it broke
			runAsked(seed, &trace)
		}()
		t.Logf("the end of the trace of seed %d (-args -seeds=1 -from=%d -tail=0 tells all):\n%s", seed, seed, lastLines(trace.String()))
	}
	if len(s.before) > 0 {
		t.Errorf("%d seeds broke before this run went on: %v", len(s.before), s.before)
	}
	if s.ranges != nil {
		t.Logf("commit %s, sources %s: seeds %d to %d, %d broken, %.1f seeds/s", s.now.commit, s.now.tree, s.from, s.to-1, len(s.before)+len(s.now.broken), s.now.rate)
		t.Logf("to repeat: make sim FROM=%d SEEDS=%d", s.from, s.to-s.from)
	}
}

// covers checks that enough seeds have committed every mutation.
func (s *sweep) covers(t *testing.T) {
	t.Helper()
	if s.at-s.begun < enoughSeeds || *spelled != "" { // in other layouts there are neither foreign members nor definitions
		return
	}
	if s.total.Exact == 0 {
		t.Error("no instant passed quietly beside members of ElasticJob")
	}
	for _, m := range every() {
		if s.total.Committed[m] == 0 {
			t.Errorf("no seed committed %s", m)
		}
	}
}

func (r *Result) add(o Result) {
	r.Steps += o.Steps
	r.Guests += o.Guests
	r.Conflicts += o.Conflicts
	r.Refused += o.Refused
	r.Exact += o.Exact
	for m, n := range o.Committed {
		r.Committed[m] += n
	}
}
