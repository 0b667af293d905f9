package jobtree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A transaction gives a name to each version that it requires.
func TestVersionsAreFences(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset, found := token.NewFileSet(), 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && builds(fn) {
				found += versionsAreFences(t, fset, fn)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d versions were found", found)
	}
}

// builds reports whether a function builds a transaction. Operations of a dialect pass
// fenced.
func builds(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return false
	}
	of, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
	return ok && of.X.(*ast.Ident).Name == "transaction" && fn.Name.Name != "fenced" || fn.Name.Name == "Encode"
}

func versionsAreFences(t *testing.T, fset *token.FileSet, fn *ast.FuncDecl) (found int) {
	t.Helper()
	ask := func(e ast.Expr) {
		found++
		switch e := e.(type) {
		case *ast.BasicLit: // the version of a node that is created
		case *ast.Ident:
			if e.Name == "version" {
				return // a parameter of the function
			}
			t.Errorf("%s: %s", fset.Position(e.Pos()), e.Name)
		case *ast.SelectorExpr:
			if e.Sel.Name != "AnyVersion" {
				t.Errorf("%s: the version %s has no name: ask seen for it", fset.Position(e.Pos()), e.Sel.Name)
			}
		case *ast.CallExpr:
			if fn, ok := e.Fun.(*ast.SelectorExpr); !ok || fn.Sel.Name != "seen" {
				t.Errorf("%s: the version has no name: ask seen for it", fset.Position(e.Pos()))
			}
		default:
			t.Errorf("%s: %T", fset.Position(e.Pos()), e)
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			fn, ok := n.Fun.(*ast.SelectorExpr)
			switch {
			case ok && fn.Sel.Name == "op":
				ask(n.Args[3])
			case ok && fn.Sel.Name == "delete":
				ask(n.Args[1])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Version" {
				ask(n.Value)
			}
		}
		return true
	})
	return found
}
