package sim

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 20, "how many seeds TestSeeds runs")
	from  = flag.Uint64("from", 0, "the first seed")
	first = flag.Bool("first", false, "print the first broken seed in one line and stop")
	tail  = flag.Int("tail", 150, "lines of the story of a broken seed; 0: all")
)

// every mutation that the simulation must commit somewhere.
func every() []string {
	return []string{
		"setup", "join", "set-server", "prune-servers", "contend", "withdraw", "elect", "abdicate", "mark-reshard", "reshard", "owners", "begin", "complete", "again",
		"forget", "account", "mark-misfire", "clear-marks", "adopt", "enqueue", "orphan", "take", "drop", "tell", "leave", "request-trigger", "set-paused",
		"disable-item", "disable-server", "put-config", "define", "publish", "switch",
	}
}

// enoughSeeds for every mutation to have been committed.
const enoughSeeds = 200

func TestSeeds(t *testing.T) {
	if *seeds >= enoughSeeds {
		// Nearly all that lives dies young.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	start := time.Now()
	total := Result{Committed: map[string]int64{}}
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		r := Run(seed, nil)
		total.add(r)
		if r.Breach != nil {
			broke(t, seed, r.Breach)
		}
	}
	took := time.Since(start)
	t.Logf("%d seeds, %d steps, %d guests, %d refused commits, %d refused late writes, %d quiet instants beside ElasticJob, %.0f steps/s",
		*seeds, total.Steps, total.Guests, total.Conflicts, total.Refused, total.Exact, float64(total.Steps)/took.Seconds())
	for _, m := range slices.Sorted(maps.Keys(total.Committed)) {
		t.Logf("%16s %8d", m, total.Committed[m])
	}
	if *seeds < enoughSeeds {
		return
	}
	if total.Exact == 0 {
		t.Error("no instant passed quietly beside members of ElasticJob")
	}
	for _, m := range every() {
		if total.Committed[m] == 0 {
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

// broke tells the end of the story of a seed, and ends the test.
func broke(t *testing.T, seed uint64, b *Breach) {
	t.Helper()
	if *first {
		fmt.Printf("broken seed %d invariant %q\n", seed, b.Invariant)
		os.Exit(1)
	}
	var story bytes.Buffer
	Run(seed, &story)
	t.Fatalf("seed %d broke %q; the end of its story (-args -seeds=1 -from=%d -tail=0 tells all):\n%s", seed, b.Invariant, seed, lastLines(story.String()))
}

func lastLines(story string) string {
	lines := strings.Split(strings.TrimSpace(story), "\n")
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
			t.Errorf("seed %d told two stories", seed)
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
