package arch

import (
	"go/ast"
	"slices"
	"testing"
)

// TestOnlyTheSimulatorLeavesOut checks that a server applies every rule and encodes every
// fence.
func TestOnlyTheSimulatorLeavesOut(t *testing.T) {
	t.Parallel()
	p := tree(t)
	found := 0
	for _, f := range p.main() {
		if !within(f.rel, "host") && !within(f.rel, "cmd") {
			continue
		}
		for _, s := range f.files {
			ast.Inspect(s.ast, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok || id.Name != "Without" {
					return true
				}
				found++
				if !slices.Contains([]string{"host/internal/protocol", "host/internal/layout", "host/internal/layout/jobtree", "host/internal/sim"}, f.rel) {
					t.Errorf("%s: only the simulator leaves rules and fences out", p.at(id))
				}
				return true
			})
		}
	}
	if found == 0 {
		t.Error("nobody leaves anything out")
	}
}
