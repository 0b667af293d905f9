// Package check checks from the reports of a shared job's members that every item ran
// once at every instant. Where an item did not, there must be evidence that ElasticJob
// caused it or that it was inevitable: the output of Java's schedulers, and ZooKeeper's
// log. The package starts no process: its input is runs, a timeline and the evidence, its
// output a Report. test/faults checks histories.
//
// Flow: ReadJava reads the output of a Java member, Ours the lines of guests → Runs
// compares the runs with the spans of the timeline and looks for an Excuse; excuse.go has
// all kinds with their bounds → Table prints a line for each role and event, and one for
// each reason.
package check

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

// Run is one run of an item as its member reported it. Times are Unix milliseconds.
type Run struct {
	Item    int
	Member  string // the address
	Instant int64  // its instant; 0 if it was requested
	Start   int64
	End     int64 // 0 if the member has not reported its end
	Total   int   // of the job, as a Java member saw it
	Java    bool
	Attempt int
}

// JavaLine is a line that a Java member prints besides its runs. Its scheduler prints
// which instant it fires, when that round is over, and which instant it leaves out.
type JavaLine struct {
	Word    string // joined, started, completed, fired, misfired, over
	Member  string
	At      int64
	Instant int64 // of the last three words; 0 if the round was requested
}

// ReadJava parses the output of a Java member. It leaves out an incomplete last line.
func ReadJava(r io.Reader, member string) ([]Run, []JavaLine, error) {
	var runs []Run
	var others []JavaLine
	open := map[int]int{} // the newest run of an item
	var instant int64     // of the current round
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return runs, others, nil
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
			others = append(others, JavaLine{Word: f[0], Member: member, At: at, Instant: instant})
		case "misfired", "over":
			others = append(others, JavaLine{Word: f[0], Member: member, At: at, Instant: number[1]})
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
			others = append(others, JavaLine{Word: f[0], Member: member, At: at})
		default:
			return nil, nil, fmt.Errorf("line %d of %s begins with no word that members know: %q", n, member, text)
		}
	}
}

// Ours converts the lines of guests to runs.
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

// Sort sorts the runs of all members by their start.
func Sort(runs []Run) {
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Item, b.Item)) })
}
