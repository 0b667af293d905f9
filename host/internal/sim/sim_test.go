package sim

import (
	"bytes"
	"flag"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

var (
	seeds = flag.Uint64("seeds", 20, "how many seeds TestSeeds runs")
	from  = flag.String("from", "", "the first seed; without it 0 or, with -ranges, the one behind those that were simulated on these sources, or one drawn from the commit")
	kept  = flag.String("ranges", "", "the file in which to keep what was simulated, and to look where to go on")
	// spelled does not go with -ranges, which keeps seeds of layout 2.1.
	spelled = flag.String("layout", "", "the layout of all clusters; without it, they have 2.1")

	tail = flag.Int("tail", 150, "lines of the trace of a broken seed; 0: all")
)

// runAsked runs a seed in the layout that was asked for.
func runAsked(seed uint64, trace io.Writer) Result {
	if *spelled != "" {
		return RunIn(*spelled, seed, trace)
	}
	return Run(seed, trace)
}

// every lists the mutations that the simulation must commit at some time.
func every() []string {
	return []string{
		"setup", "join", "set-server", "prune-servers", "contend", "withdraw", "elect", "abdicate", "mark-reshard", "reshard", "owners", "begin", "complete", "next-attempt",
		"forget", "account", "mark-misfire", "clear-marks", "adopt", "reclaim", "reclaim-foreign", "take", "drop", "set-fires", "leave", "request-trigger", "set-paused",
		"disable-item", "disable-server", "put-config", "define", "publish", "switch",
	}
}

// enoughSeeds is enough for every mutation to be committed.
const enoughSeeds = 200

func TestSeeds(t *testing.T) {
	if *seeds >= enoughSeeds {
		if flag.Lookup("test.memprofile").Value.String() == "" {
			defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
			runtime.MemProfileRate = 0 // unused samples cost one seed in twenty-five
		}
		// Nearly all objects die young.
		defer debug.SetGCPercent(debug.SetGCPercent(1600))
	}
	s := newSweep(t)
	for r := range inOrder(s.at, s.to) {
		s.take(t, r)
	}
	s.end(t)
}

// Clusters keep the same promises in layout 3. make sim LAYOUT=3 simulates more of them.
func TestSeedsInLayout3(t *testing.T) {
	t.Parallel()
	for seed := range uint64(14) {
		if r := RunIn(job.Layout3, seed, nil); r.Breach != nil {
			t.Errorf("seed %d: %s", seed, r.Breach)
		}
	}
	for _, seed := range []uint64{
		100068, 100118, // a foreign member that waits is asked again
		100811, 100896, // an id comes back to marks of its former life
		200021,  // an item moves to a member that was asked and is gone
		7002391, // runs that were taken over and have no other mark end together
	} {
		if r := runAlone(job.Layout3, seed, nil); r.Breach != nil {
			t.Errorf("seed %d, alone: %s", seed, r.Breach)
		}
	}
}

// The same in layout 1, where each key of the configuration is a node, and a version has several words.
func TestSeedsInLayout1(t *testing.T) {
	t.Parallel()
	defined := int64(0)
	for seed := range uint64(40) {
		r := RunIn(job.Layout1, seed, nil)
		if defined += r.Committed["define"]; r.Breach != nil {
			t.Errorf("seed %d: %s", seed, r.Breach)
		}
	}
	if defined == 0 {
		t.Error("no definition was written")
	}
	for _, seed := range []uint64{
		8003664,    // a part of a reshard moves an item, and leaves the list that names another
		8100486,    // an operator's pause waits for an address into the calm
		6910013325, // triggers run at three instants in a row, the last of all
	} {
		if r := RunIn(job.Layout1, seed, nil); r.Breach != nil {
			t.Errorf("seed %d: %s", seed, r.Breach)
		}
	}
}

// The same in layout 2.0, where an address has one member.
func TestSeedsInLayout20(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		if r := RunIn(job.Layout20, seed, nil); r.Breach != nil {
			t.Errorf("seed %d: %s", seed, r.Breach)
		}
	}
	for _, seed := range []uint64{
		1050,       // a list names items whose nodes are not there
		1062,       // the leader's node names no member
		6820001598, // a paused server whose member is to leave
	} {
		if r := RunIn(job.Layout20, seed, nil); r.Breach != nil {
			t.Errorf("seed %d: %s", seed, r.Breach)
		}
	}
}

func lastLines(trace string) string {
	lines := strings.Split(strings.TrimSpace(trace), "\n")
	if *tail > 0 && len(lines) > *tail {
		lines = lines[len(lines)-*tail:]
	}
	return strings.Join(lines, "\n")
}

func TestReplay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(len(profiles())) {
		var a, b bytes.Buffer
		Run(seed, &a)
		Run(seed, &b)
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("seed %d has two traces", seed)
		}
		if r := Run(seed, nil); r.Breach != nil {
			t.Errorf("seed %d: %s", seed, r.Breach)
		}
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var q events
	var want []event
	for seq := range int64(1000) {
		e := event{at: rng.Int64N(50), seq: seq}
		q.push(e)
		want = append(want, e)
	}
	slices.SortFunc(want, func(a, b event) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for k, w := range want {
		if got := q.pop(); got.at != w.at || got.seq != w.seq {
			t.Fatalf("event %d is %d/%d, not %d/%d", k, got.at, got.seq, w.at, w.seq)
		}
	}
}
