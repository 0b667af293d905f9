package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// emptyNames say nothing about a package's content.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "shared", "types", "models", "impl", "core", "manager", "service"}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, f := range tree(t).folders {
		if slices.Contains(emptyNames, path.Base(f.rel)) {
			t.Errorf("%s: name the package after what it is", f.rel)
		}
		for _, s := range f.files {
			stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.rel), ".go"), "_test")
			if slices.Contains(emptyNames, stem) {
				t.Errorf("%s: name the file after its role or its concept", s.rel)
			}
		}
	}
}

// denial matches the part of a package comment that says what the package does not do.
var denial = regexp.MustCompile(`(?i)\b(not|no|never|nothing|neither|none|without|only)\b`)

func TestPackageDocs(t *testing.T) {
	t.Parallel()
	for _, f := range tree(t).folders {
		var docs []string
		name := ""
		for _, s := range f.files {
			if s.test {
				continue
			}
			name = s.ast.Name.Name
			if s.ast.Doc != nil && s.ast.Doc.Text() != "" {
				docs = append(docs, s.ast.Doc.Text())
			}
		}
		if name == "" {
			continue // only tests
		}
		why := docFault(name, docs)
		if f.guest != "" && why == noDenial {
			continue // an example says what it shows
		}
		if why != "" {
			t.Errorf("%s: %s", f.rel, why)
		}
	}
	for _, docs := range [][]string{nil, {"Package x is here."}, {"Package x is not for y.\n", "Package x again, no.\n"}, {"X is not for y."}} {
		if docFault("x", docs) == "" {
			t.Errorf("comment %q was not refused", docs)
		}
	}
}

const noDenial = "the package's comment does not say what the package is not for"

func docFault(name string, docs []string) string {
	opening := "Package " + name + " "
	if name == "main" {
		opening = "Command "
	}
	switch {
	case len(docs) == 0:
		return "the package has no comment"
	case len(docs) > 1:
		return "the package has more than one comment"
	case !strings.HasPrefix(docs[0], opening) && (name != "main" || !strings.HasPrefix(docs[0], "Package main ")):
		return "the package's comment does not begin with " + opening
	case !denial.MatchString(docs[0]):
		return noDenial
	}
	return ""
}

// TestNoInit does not apply to guests: a module that the host calls has no other moment
// to register its job.
func TestNoInit(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, f := range p.main() {
		for _, s := range f.files {
			for _, d := range s.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: no init: wiring happens where it can be read, in host.New and cmd", p.at(fn))
				}
			}
		}
	}
}

func TestNoSleepInTests(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, f := range p.folders {
		for _, s := range f.files {
			if !s.test {
				continue
			}
			for _, n := range sleeps(s.ast) {
				t.Errorf("%s: a test that sleeps is slow or wrong: wait for an event, or use testing/synctest", p.at(n))
			}
		}
	}
}

func TestNoSleepRefuses(t *testing.T) {
	t.Parallel()
	const text = `package x
import ("time"; "testing"; "testing/synctest")
func a(t *testing.T) { time.Sleep(1) }
func b(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }
`
	f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(sleeps(f)); got != 1 {
		t.Errorf("found %d sleeps, want the one outside the bubble", got)
	}
}

// sleeps returns the calls of time.Sleep that use the real clock: inside synctest.Test
// the clock is virtual.
func sleeps(f *ast.File) []ast.Node {
	var found []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch {
		case selects(c.Fun, "synctest", "Test"):
			return false
		case selects(c.Fun, "time", "Sleep"):
			found = append(found, c)
		}
		return true
	})
	return found
}

func selects(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}
