package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Problem is one fault at one place. Line and Col count from 1, Col in characters; both are 0
// if there is no text to point at.
type Problem struct {
	File string
	Line int
	Col  int
	Path string // dotted key in TOML's spelling
	Why  reason.Reason
}

// MarshalJSON implements json.Marshaler.
func (p Problem) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(struct {
		File    string            `json:"file"`
		Line    int               `json:"line"`
		Col     int               `json:"column"`
		Path    string            `json:"path"`
		Code    reason.Code       `json:"code"`
		Params  map[string]string `json:"params,omitempty"`
		Message string            `json:"message"`
		Hint    string            `json:"hint,omitempty"`
	}{p.File, p.Line, p.Col, p.Path, p.Why.Code, p.Why.Params(), p.message(), p.hint()})
	if err != nil {
		return nil, fmt.Errorf("problem at %s: %w", p.Path, err)
	}
	return b, nil
}

// message and hint are for people. Names and values from the file are escaped, because they
// must not break the line.
func (p Problem) message() string { return printable(p.Why.String()) }
func (p Problem) hint() string    { return printable(p.Why.Hint()) }

// String returns one line in the style of a compiler.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.message())
	if hint := p.hint(); hint != "" {
		b.WriteString(" (" + hint + ")")
	}
	return b.String()
}

// Problems is the error of Load and Parse: all faults, ordered by the reading of the files,
// then by position.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted sorts the problems for people, who fix them from top to bottom. order gives the
// position of each file among those read.
func (ps Problems) sorted(order map[string]int) Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(order[a.File], order[b.File]),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Path, b.Path),
		)
	})
	return slices.Compact(ps)
}

// place is a position in a file; line 0 means the file as a whole.
type place struct {
	file      string
	line, col int
}

// String returns the place as a compiler writes it.
func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.col)
}

// problem returns a problem of the key at path, at this place.
func (p place) problem(path string, why reason.Reason) Problem {
	return Problem{File: p.file, Line: p.line, Col: p.col, Path: path, Why: why}
}

// quoted returns a list of words for a message: "a", "b" or "c".
func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = fmt.Sprintf("%q", w)
	}
	if len(q) < 2 {
		return strings.Join(q, "")
	}
	return strings.Join(q[:len(q)-1], ", ") + " or " + q[len(q)-1]
}
