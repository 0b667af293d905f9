// Package evidence checks what guests reported while their servers were killed,
// frozen and cut off: which ran at once, which never ran, which ran twice, and
// whether the rows of the servers' histories agree. It starts nothing and knows
// no server: lines and rows go in, a Report comes out.
//
// Flow: Read reads the file that all guests append to → Check applies the rules
// one by one → Table prints a line for each fault.
package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Line is one line of the file: what a guest did, in the order in which it
// was done.
type Line struct {
	Word    string // start, beat, element, end, stop
	Job     string
	Item    int
	Run     string
	Instant int64 // what the run is for, in Unix milliseconds; 0 if it was triggered
	Attempt int
	Token   int64
	Server  string // the instance
	At      int64  // when, in Unix milliseconds
	Element int64  // of the word element

	order int // in the file
}

// fields is how many a line has; an element has one more.
const fields = 6

// Read reads lines as the guests write them. A last line without its end is
// left for later: its guest is still writing. The error names the line.
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
	run := strings.SplitN(f[1], "/", 3) // the id of a trigger may have more of them
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

// numbers reads several and keeps the first error.
type numbers struct{ err error }

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
