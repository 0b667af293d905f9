package arch

import (
	"fmt"
	"go/ast"
	"testing"
)

const (
	fileLines     = 400
	functionLines = 60
)

// tooLong lists files and functions that exceed the limits, each with its own maximum.
// Nothing may be added: a file that is divided is removed from the table.
var tooLong = map[string]int{
	"host/discover_test.go":                   600,
	"host/internal/protocol/vocabulary.go":    600,
	"host/internal/cluster/flows_test.go":     500,
	"host/internal/layout/v21/config_test.go": 500,
	"host/internal/peer/peer_test.go":         500,
	"host/config/config_test.go":              450,
	"host/internal/layout/spelling/values.go": 450,
	"host/internal/sim/golden/served_test.go": 450,
	"host/registry/embedded/fault_test.go":    450,
	"host/registry/tree/tree_test.go":         450,

	"host/internal/layout/jobtree/encode.go Encode": 130,
	"host/config/schema.go schema":                  90,
	"host/internal/wasm/op.go allShapes":            90,
	"host/internal/layout/jobtree/decode.go Apply":  80,
	"host/internal/sandbox/http.go httpRequest":     80,
	"host/internal/sim/races.go provokeRace":        80,
	"host/internal/sim/profile.go profiles":         80,
	"host/internal/meter/bulk.go bulkInPieces":      70,
}

// TestSizes limits files and functions, since a large one usually holds two ideas.
// Functions of tests are exempt, because their tables are long.
func TestSizes(t *testing.T) {
	t.Parallel()
	p := tree(t)
	found := map[string]bool{}
	check := func(what string, lines, limit int) {
		found[what] = true
		if why := sizeFault(lines, limit, tooLong[what]); why != "" {
			t.Errorf("%s: %s", what, why)
		}
	}
	for _, f := range p.folders {
		for _, s := range f.files {
			if ast.IsGenerated(s.ast) {
				continue
			}
			check(s.rel, p.fset.Position(s.ast.FileEnd).Line-1, fileLines)
			for _, d := range s.ast.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && !s.test {
					check(s.rel+" "+d.Name.Name, p.fset.Position(d.End()).Line-p.fset.Position(d.Pos()).Line+1, functionLines)
				}
			}
		}
	}
	for what := range tooLong {
		if !found[what] {
			t.Errorf("%s is not there: take its line out of tooLong", what)
		}
	}
	for _, c := range []struct {
		lines, allowed int
		ok             bool
	}{{60, 0, true}, {61, 0, false}, {61, 70, true}, {71, 70, false}, {60, 70, false}} {
		if (sizeFault(c.lines, 60, c.allowed) == "") != c.ok {
			t.Errorf("%d lines with %d allowed: it is not so that this passes: %v", c.lines, c.allowed, c.ok)
		}
	}
}

// sizeFault returns a fault if there are too many lines. allowed is 0 if the general
// limit applies.
func sizeFault(lines, limit, allowed int) string {
	switch {
	case allowed == 0 && lines > limit:
		return fmt.Sprintf("it has %d lines, more than %d: divide it", lines, limit)
	case allowed > 0 && lines > allowed:
		return fmt.Sprintf("it has %d lines, and even as an exception may have %d: divide it", lines, allowed)
	case allowed > 0 && lines <= limit:
		return fmt.Sprintf("it has %d lines, which is within the limit of %d: take its line out of tooLong", lines, limit)
	}
	return ""
}
