// Package judge checks whether every item of a shared job ran once at every
// instant, by what its members reported. Where one did not, there must be
// evidence that ElasticJob caused it or that it was inevitable: the output of
// Java's schedulers, and ZooKeeper's log. It starts nothing: runs, a timeline
// and the evidence go in, a Report comes out. It does not check histories, as
// test/faults does.
//
// Flow: ReadJava reads what a Java member printed, Ours what guests wrote →
// Judge compares the runs with the spans of the timeline and looks for an
// Excuse; excuse.go has all kinds with their bounds → Table prints a line for
// each role and event, and one for each reason.
package judge

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

// Run is one run of an item as its member told of it. Times are Unix
// milliseconds.
type Run struct {
	Item    int
	Member  string // the address
	Instant int64  // what it is for; 0: somebody has asked for it
	Start   int64
	End     int64 // 0: it has not told of one
	Total   int   // of the job, as a Java member saw it
	Java    bool
	Attempt int
}

// Told is a line of a Java member that is no run's. Its scheduler says which
// instant it fires, when that round is over, and which instant it leaves out.
type Told struct {
	Word    string // joined, started, completed, fired, misfired, over
	Member  string
	At      int64
	Instant int64 // of the last three; 0: somebody has asked for the round
}

// ReadJava reads what one Java member printed. A last line without its end is
// left for later.
func ReadJava(r io.Reader, member string) ([]Run, []Told, error) {
	var runs []Run
	var told []Told
	open := map[int]int{} // the newest run of an item
	var instant int64     // of the round that goes on
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return runs, told, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read what %s printed: %w", member, err)
		}
		f := strings.Fields(text)
		if len(f) != 5 {
			return nil, nil, fmt.Errorf("line %d of %s has %d fields, not 5: %q", n, member, len(f), text)
		}
		var number [3]int64
		for i := range number {
			if number[i], err = strconv.ParseInt(f[i+1], 10, 64); err != nil {
				return nil, nil, fmt.Errorf("line %d of %s: %w", n, member, err)
			}
		}
		at, item := number[0], int(number[1])
		switch f[0] {
		case "fired":
			instant = number[1]
			told = append(told, Told{Word: f[0], Member: member, At: at, Instant: instant})
		case "misfired", "over":
			told = append(told, Told{Word: f[0], Member: member, At: at, Instant: number[1]})
		case "start":
			open[item] = len(runs)
			runs = append(runs, Run{Item: item, Member: member, Instant: instant, Start: at, Total: int(number[2]), Java: true})
		case "end", "stop":
			i, ok := open[item]
			if !ok {
				return nil, nil, fmt.Errorf("line %d of %s ends a run that has not started", n, member)
			}
			delete(open, item)
			if f[0] == "end" {
				runs[i].End = at
			}
		case "joined", "started", "completed":
			told = append(told, Told{Word: f[0], Member: member, At: at})
		default:
			return nil, nil, fmt.Errorf("line %d of %s begins with no word that members know: %q", n, member, text)
		}
	}
}

// Ours makes runs of the lines of guests.
func Ours(lines []evidence.Line) []Run {
	type key struct {
		item, attempt int
		run           string
		token         int64
	}
	at := map[key]int{}
	var runs []Run
	for _, l := range lines {
		k := key{l.Item, l.Attempt, l.Run, l.Token}
		switch l.Word {
		case "start":
			at[k] = len(runs)
			runs = append(runs, Run{Item: l.Item, Member: job.InstanceID(l.Server).IP(), Instant: l.Instant, Start: l.At, Attempt: l.Attempt})
		case "end":
			if i, ok := at[k]; ok {
				runs[i].End = l.At
			}
		}
	}
	return runs
}

// Sort puts runs of all members into the order in which they started.
func Sort(runs []Run) {
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Item, b.Item)) })
}
