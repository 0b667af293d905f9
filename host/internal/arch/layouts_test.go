package arch

import (
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

// ofALayout matches names that belong to a single layout.
var ofALayout = regexp.MustCompile(`(21|20|V3|V1)$`)

// settingsOfLayouts are the names of layouts in a job's configuration.
var settingsOfLayouts = []string{"Layout1", "Layout20", "Layout21"}

// layoutFolders may name a layout: the layouts themselves, and the simulator, whose
// members of ElasticJob belong to a release.
var layoutFolders = []string{"host/internal/layout", "host/internal/sim", "host/internal/javatest"}

// TestLayoutsAreNamedByLayoutAlone keeps code outside of layouts independent of a
// particular layout, so that another one can be added in one place.
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
