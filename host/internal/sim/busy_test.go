package sim

import (
	"bytes"
	"flag"
	"testing"
)

var (
	busyFrom  = flag.Uint64("busy-from", 0, "the first seed of TestNothingWaitsForEverUnderLoad")
	busySeeds = flag.Uint64("busy-seeds", 15, "how many seeds it runs of each kind")
)

func TestNothingWaitsForEverUnderLoad(t *testing.T) {
	t.Parallel()
	for _, p := range []profile{busy(), seldom(), busyShared()} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for seed := *busyFrom; seed < *busyFrom+*busySeeds; seed++ {
				if b := run(seed, p, nil).Breach; b != nil {
					var trace bytes.Buffer
					run(seed, p, &trace)
					t.Errorf("seed %d: %s\n%s", seed, b, lastLines(trace.String()))
				}
			}
		})
	}
}

// Each of these mutants leaves something waiting, and breaks no other promise.
func TestWhatWaitsUnderLoadIsNoticed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string // the rule that is left out
		profile
	}{
		{"reshard", busy()}, {"mark-reshard", busy()}, {"elect", busy()}, {"take", seldom()}, {"missed", seldom()},
		{"reshard", busyShared()}, {"mark-reshard", busyShared()}, {"adopt", busyShared()},
	} {
		t.Run(c.rule+", "+c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(100) {
				w := newWorld(seed, drawn(seed), c.profile, nil)
				w.without = c.rule
				w.setup()
				w.populate()
				w.disturb()
				if b := w.play().Breach; b != nil && b.Invariant == "age" {
					t.Logf("seed %d: %s", seed, b)
					return
				}
			}
			t.Error("no seed shows that something waits too long")
		})
	}
}
