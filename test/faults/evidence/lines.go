// Package evidence checks the reports of guests whose servers were killed, frozen and cut
// off: which ran concurrently, which never ran, which ran twice, and whether the rows of
// the servers' histories agree. It starts nothing and knows no server: its input is lines
// and rows, its output a Report.
//
// Flow: Read reads the lines that guests append to one file → Check compares them with each
// other and with the rows → Table prints a line for each fault.
package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Line is one line of the file: an action of a guest. Lines are in the order of the
// actions.
type Line struct {
	Word    string // start, beat, element, end, stop
	Job     string
	Item    int
	Run     string
	Instant int64 // what the run is for, in Unix milliseconds; 0 if it was triggered
	Attempt int
	Token   int64
	Server  string // the instance
	At      int64  // in Unix milliseconds
	Element int64  // for the word element

	order int // position in the file
}

// fields is the number of fields of a line; an element has one more.
const fields = 6

// Read reads the lines that guests have written. It leaves out an incomplete last line,
// whose guest is still writing. The error names the line.
func Read(r io.Reader) ([]Line, error) {
	var lines []Line
	in := bufio.NewReader(r)
	for {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read evidence: %w", err)
		}
		l, err := parse(strings.TrimSuffix(text, "\n"))
		if err != nil {
			return nil, fmt.Errorf("line %d of the evidence: %w", len(lines)+1, err)
		}
		l.order = len(lines)
		lines = append(lines, l)
	}
}

// parse parses a line, in which the run is job/item/id. The id of a scheduled run is its
// instant.
func parse(text string) (Line, error) {
	f := strings.Split(text, " ")
	if len(f) < fields {
		return Line{}, fmt.Errorf("%q has %d fields, not %d", text, len(f), fields)
	}
	l := Line{Word: f[0], Server: f[4]}
	want := fields
	switch l.Word {
	case "start", "beat", "end", "stop":
	case "element":
		want++
	default:
		return Line{}, fmt.Errorf("%q begins with no word that guests know", text)
	}
	if len(f) != want {
		return Line{}, fmt.Errorf("%q has %d fields, not %d", text, len(f), want)
	}
	run := strings.SplitN(f[1], "/", 3) // the id of a trigger may contain more slashes
	if len(run) != 3 || run[0] == "" || run[2] == "" || l.Server == "" {
		return Line{}, fmt.Errorf("%q names no run of a job", text)
	}
	l.Job, l.Run = run[0], run[2]
	n := numbers{}
	l.Item = int(n.read(run[1]))
	if '0' <= l.Run[0] && l.Run[0] <= '9' {
		l.Instant = n.read(l.Run)
	}
	l.Attempt, l.Token, l.At = int(n.read(f[2])), n.read(f[3]), n.read(f[5])
	if want > fields {
		l.Element = n.read(f[6])
	}
	if n.err != nil {
		return Line{}, fmt.Errorf("%q: %w", text, n.err)
	}
	return l, nil
}

// numbers parses several numbers and keeps the first error.
type numbers struct{ err error }

// read parses a number that must not be negative.
func (n *numbers) read(s string) int64 {
	i, err := strconv.ParseInt(s, 10, 64)
	if err == nil && i < 0 {
		err = fmt.Errorf("%d is negative", i)
	}
	if n.err == nil {
		n.err = err
	}
	return i
}
