package sim

import (
	"bytes"
	"flag"
	"io"
	"testing"
)

var (
	afterFrom  = flag.Uint64("after-from", 0, "the first seed of TestJobsAfterOthersRunForEachInstant")
	afterSeeds = flag.Uint64("after-seeds", 12, "how many seeds it runs")
)

// Few seeds of TestSeeds run after others.
func TestJobsAfterOthersRunForEachInstant(t *testing.T) {
	t.Parallel()
	for seed := *afterFrom; seed < *afterFrom+*afterSeeds; seed++ {
		if b := runAfterOthers(seed, drawn(seed), nil).Breach; b != nil {
			var trace bytes.Buffer
			runAfterOthers(seed, drawn(seed), &trace)
			t.Errorf("seed %d: %s\n%s", seed, b, lastLines(trace.String()))
		}
	}
}

func TestReplayOfJobsAfterOthers(t *testing.T) {
	t.Parallel()
	var was, is bytes.Buffer
	d, kept := recorded(2)
	runAfterOthers(2, d, &was)
	runAfterOthers(2, replayed(kept), &is)
	if !bytes.Equal(was.Bytes(), is.Bytes()) {
		t.Error("the replay has another trace")
	}
	if !bytes.Contains(was.Bytes(), []byte("job before 2: ")) || !bytes.Contains(was.Bytes(), []byte("Until:1")) {
		t.Error("the seed has no second job before it, or no pause with an end: choose another one")
	}
}

func runAfterOthers(seed uint64, d *draws, trace io.Writer) Result {
	all := profiles()[:5]
	w := newWorld(seed, d, all[seed%5], trace)
	w.setup()
	w.populate()
	w.disturb()
	if w.extra.chance(0.5) {
		w.nextPause()
	}
	w.followOthers()
	return w.play()
}
