package jobtree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestVersionsAreFences: a transaction names each version that it asks for.
func TestVersionsAreFences(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "encode.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ask := func(e ast.Expr) {
		found++
		switch e := e.(type) {
		case *ast.BasicLit: // of a node that is created
		case *ast.Ident:
			if e.Name == "version" {
				return // of a function that is told
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
	ast.Inspect(f, func(n ast.Node) bool {
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
	if found < 40 {
		t.Errorf("only %d versions were found", found)
	}
}
