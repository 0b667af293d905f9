package arch

import (
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

// ofALayout matches the name of something that one layout has of its own.
var ofALayout = regexp.MustCompile(`(21|20|V3|V1)$`)

// settingsOfLayouts are the words by which a job's configuration names a layout.
var settingsOfLayouts = []string{"Layout1", "Layout20", "Layout21"}

// layoutFolders may know one: the layouts, and the simulator, whose members of
// ElasticJob are of a release.
var layoutFolders = []string{"host/internal/layout", "host/internal/sim", "host/internal/javatest"}

// TestLayoutsAreNamedByLayoutAlone: what is built on a layout must not know which
// it is, or the next one is built all over the tree.
func TestLayoutsAreNamedByLayoutAlone(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, f := range p.main() {
		if !within(f.rel, "host") && !within(f.rel, "cmd") || slices.ContainsFunc(layoutFolders, func(dir string) bool { return within(f.rel, dir) }) {
			continue
		}
		for _, s := range f.files {
			if s.test {
				continue
			}
			ast.Inspect(s.ast, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && ofALayout.MatchString(id.Name) && !slices.Contains(settingsOfLayouts, id.Name) {
					t.Errorf("%s: %s is of one layout: only host/internal/layout knows that", p.at(id), id.Name)
				}
				return true
			})
		}
	}
	for name, want := range map[string]bool{"Config21": true, "v21": true, "Layout21": true, "decodeV3": true, "Layout": false, "v": false} {
		if ofALayout.MatchString(name) != want {
			t.Errorf("%s: is of one layout: %v, want %v", name, !want, want)
		}
	}
}
