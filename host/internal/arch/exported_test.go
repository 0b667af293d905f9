package arch

import (
	"go/ast"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExported checks that a program that embeds a public package can name each type that
// it meets, and read its fields.
func TestExported(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, f := range p.main() {
		if !public(f.rel) {
			continue
		}
		for _, l := range leaksOf(f) {
			t.Errorf("%s: %s shows %s, which who imports %s cannot name", p.at(l.node), l.name, l.what, f.rel)
		}
	}
}

// TestExportedRefuses runs the same check on a sample. Its comments list the expected
// findings, and there must be no others.
func TestExportedRefuses(t *testing.T) {
	t.Parallel()
	p := tree(t)
	name := filepath.Join(p.root, "host/internal/arch/testdata/leaky/leaky.go")
	s, err := p.parse(name)
	if err != nil {
		t.Fatal(err)
	}
	want, got := wanted(t, name), map[int]string{}
	for _, l := range leaksOf(folder{rel: "host/leaky", files: []source{s}}) {
		got[p.fset.Position(l.node.Pos()).Line] += l.name + " shows " + l.what
	}
	for line, text := range want {
		if !strings.Contains(got[line], text) {
			t.Errorf("line %d: got %q, want %q", line, got[line], text)
		}
	}
	for line, text := range got {
		if _, ok := want[line]; !ok {
			t.Errorf("line %d: %q was not expected", line, text)
		}
	}
}

// public reports whether other programs may import a folder of the main module. Commands
// and tests are of no use to them.
func public(rel string) bool {
	dirs := strings.Split(rel, "/")
	return !slices.Contains(dirs, "internal") && dirs[0] != "cmd" && dirs[0] != "test"
}

// leak is an exported name whose declaration refers to an internal type.
type leak struct {
	name string // of the function, method, type, variable or constant
	what string // "runner.Start"
	node ast.Node
}

// leaksOf checks everything that a package exports.
func leaksOf(f folder) (found []leak) {
	types := map[string]typeAt{}
	for _, s := range f.files {
		for _, spec := range specs[*ast.TypeSpec](s, token.TYPE) {
			types[spec.Name.Name] = typeAt{spec, s}
		}
	}
	for _, s := range f.files {
		if s.test {
			continue
		}
		see := func(name string, nodes ...ast.Node) {
			w := walker{types: types, seen: map[string]bool{}}
			for _, n := range nodes {
				w.walk(s, n)
			}
			for _, l := range w.found {
				l.name = name
				found = append(found, l)
			}
		}
		for _, d := range s.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() && (fn.Recv == nil || ast.IsExported(receiver(fn))) {
				see(fn.Name.Name, fn.Type)
			}
		}
		for _, spec := range specs[*ast.TypeSpec](s, token.TYPE) {
			if spec.Name.IsExported() {
				see(spec.Name.Name, spec.Type)
			}
		}
		for _, spec := range append(specs[*ast.ValueSpec](s, token.CONST), specs[*ast.ValueSpec](s, token.VAR)...) {
			for i, name := range spec.Names {
				switch {
				case !name.IsExported():
				case spec.Type != nil:
					see(name.Name, spec.Type)
				case i < len(spec.Values): // it has the type
					see(name.Name, spec.Values[i])
				}
			}
		}
	}
	return found
}

// specs returns the declarations of one kind in a file, outside of functions.
func specs[T ast.Spec](s source, kind token.Token) (all []T) {
	for _, d := range s.ast.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == kind {
			for _, spec := range d.Specs {
				if spec, ok := spec.(T); ok {
					all = append(all, spec)
				}
			}
		}
	}
	return all
}

// receiver returns the name of a method's receiver type.
func receiver(fn *ast.FuncDecl) (name string) {
	ast.Inspect(fn.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// typeAt is the declaration of a type, with its file, whose imports apply.
type typeAt struct {
	spec *ast.TypeSpec
	in   source
}

// walker examines types as an importer of their package sees them.
type walker struct {
	types map[string]typeAt
	seen  map[string]bool
	found []leak
}

func (w *walker) walk(s source, node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.Field: // unexported fields are invisible, except embedded ones
			return len(n.Names) == 0 || n.Names[0].IsExported() || !inStruct(node, n)
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && internalImport(s, id.Name) {
				w.found = append(w.found, leak{what: id.Name + "." + n.Sel.Name, node: n})
			}
			return false
		case *ast.Ident: // the contents of an unexported type are visible through its exported user
			if t, ok := w.types[n.Name]; ok && !n.IsExported() && !w.seen[n.Name] {
				w.seen[n.Name] = true
				w.walk(t.in, t.spec.Type)
			}
		}
		return true
	})
}

// inStruct distinguishes a field from a parameter, whose name does not matter.
func inStruct(within ast.Node, field *ast.Field) (yes bool) {
	ast.Inspect(within, func(n ast.Node) bool {
		if st, ok := n.(*ast.StructType); ok {
			yes = yes || slices.Contains(st.Fields.List, field)
		}
		return !yes
	})
	return yes
}

// internalImport reports whether a name stands for an internal package in a file.
func internalImport(s source, name string) bool {
	return slices.ContainsFunc(s.imports(), func(spec *ast.ImportSpec) bool {
		rel, of := ours(importPath(spec))
		called := path.Base(rel)
		if spec.Name != nil {
			called = spec.Name.Name
		}
		return of && called == name && slices.Contains(strings.Split(rel, "/"), "internal")
	})
}
