package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNamesHaveMutants checks that each rule and each fence has a mutant that leaves out
// only that, or is listed as one that no simulated cluster needs.
func TestNamesHaveMutants(t *testing.T) {
	t.Parallel()
	has := map[string]bool{}
	for _, m := range allMutants() {
		for _, c := range m.changes {
			name := c.rule + c.fence
			has[name] = has[name] || len(m.changes) == 1
		}
	}
	delete(has, "")
	named := rulesIn(t, "../protocol/rules.go")
	for name := range fencesIn(t, "../layout/jobtree") {
		named[name] = true
	}
	if len(named) < 60 {
		t.Errorf("only %d names were found", len(named))
	}
	for name := range named {
		switch why := unnoticed()[name]; {
		case why == "" && !has[name]:
			t.Errorf("nothing shows what breaks without %s: it needs a mutant", name)
		case why != "" && has[name]:
			t.Errorf("%s has a mutant, and stands among those that have none", name)
		}
	}
	for name := range has {
		if !named[name] {
			t.Errorf("a mutant leaves out %s, which is not there", name)
		}
	}
	for name := range unnoticed() {
		if !named[name] {
			t.Errorf("%s has no mutant, and is not there", name)
		}
	}
}

// rulesIn returns the names in the table of rules.
func rulesIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	ast.Inspect(fileOf(t, path), func(n ast.Node) bool {
		row, ok := n.(*ast.CompositeLit)
		if ok && row.Type == nil && len(row.Elts) == 2 {
			names[literal(t, row.Elts[0])] = true
		}
		return true
	})
	return names
}

// fencesIn returns the arguments that functions of a package get for a parameter with the
// name fence.
func fencesIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	takes := map[string]bool{} // functions whose first parameter is a fence
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f := fileOf(t, path)
		files = append(files, f)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || len(fn.Type.Params.List) == 0 || len(fn.Type.Params.List[0].Names) == 0 {
				continue
			}
			if fn.Type.Params.List[0].Names[0].Name == "fence" {
				takes[fn.Name.Name] = true
			}
		}
	}
	names := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fn, ok := c.Fun.(*ast.SelectorExpr)
			if !ok || !takes[fn.Sel.Name] || !isTransaction(fn.X) {
				return true
			}
			if id, ok := c.Args[0].(*ast.Ident); !ok || id.Name != "fence" {
				names[literal(t, c.Args[0])] = true
			}
			return true
		})
	}
	return names
}

// isTransaction reports whether an expression is a transaction, which is always called t.
func isTransaction(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "t"
}

func fileOf(t *testing.T, path string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		t.Fatalf("a name is a literal, not %T", e)
	}
	name, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return name
}
