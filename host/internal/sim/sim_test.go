package sim

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
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
var every = []string{
	"setup", "join", "set-server", "prune-servers", "elect", "abdicate", "mark-reshard", "reshard", "begin", "complete", "again",
	"forget", "account", "mark-misfire", "clear-marks", "enqueue", "take", "drop", "leave", "request-trigger", "set-paused",
	"disable-item", "disable-server", "put-config",
}

func TestSeeds(t *testing.T) {
	start := time.Now()
	total := Result{Committed: map[string]int64{}}
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		r := Run(seed, nil)
		total.Steps += r.Steps
		total.Guests += r.Guests
		total.Conflicts += r.Conflicts
		total.Refused += r.Refused
		for m, n := range r.Committed {
			total.Committed[m] += n
		}
		if r.Breach != nil {
			if *first {
				fmt.Printf("broken seed %d invariant %q\n", seed, r.Breach.Invariant)
				os.Exit(1)
			}
			var story bytes.Buffer
			Run(seed, &story)
			lines := strings.Split(strings.TrimSpace(story.String()), "\n")
			if *tail > 0 && len(lines) > *tail {
				lines = lines[len(lines)-*tail:]
			}
			t.Fatalf("seed %d broke %q; the end of its story:\n%s", seed, r.Breach.Invariant, strings.Join(lines, "\n"))
		}
	}
	took := time.Since(start)
	t.Logf("%d seeds, %d steps, %d guests, %d refused commits, %d refused late writes, %.0f steps/s",
		*seeds, total.Steps, total.Guests, total.Conflicts, total.Refused, float64(total.Steps)/took.Seconds())
	for _, m := range slices.Sorted(maps.Keys(total.Committed)) {
		t.Logf("%16s %8d", m, total.Committed[m])
	}
	if *seeds >= 200 {
		for _, m := range every {
			if total.Committed[m] == 0 {
				t.Errorf("no seed committed %s", m)
			}
		}
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	var a, b bytes.Buffer
	Run(7, &a)
	Run(7, &b)
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same seed told two stories")
	}
}
