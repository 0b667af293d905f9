package jobtree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
)

// A node that is decoded but not followed would never reach a view.
func TestDecodedNodesAreWatched(t *testing.T) {
	t.Parallel()
	values := map[string]string{}
	each(t, "paths.go", func(s *ast.ValueSpec) {
		if len(s.Values) == 0 {
			return
		}
		if text, ok := s.Values[0].(*ast.BasicLit); ok {
			values[s.Names[0].Name], _ = strconv.Unquote(text.Value)
		}
	})
	var j Job
	followed := slices.Clone(j.Watched())
	for _, name := range j.Watched() {
		followed = append(followed, j.Below(name, registry.Node{Exists: true})...)
	}
	followed = append(followed, j.Below("", registry.Node{Exists: true, Children: []string{NodeWasm}})...)
	found := 0
	each(t, "decode.go", func(c *ast.CaseClause) {
		for _, e := range c.List {
			name, ok := e.(*ast.Ident)
			if !ok || !strings.HasPrefix(name.Name, "Node") {
				continue
			}
			if found++; !slices.Contains(followed, values[name.Name]) {
				t.Errorf("%s is decoded, but neither in watched nor in Below", name.Name)
			}
		}
	})
	if found < 20 {
		t.Errorf("only %d decoded nodes were found", found)
	}
}

// each visits all nodes of a kind in a file of this package.
func each[N ast.Node](t *testing.T, file string, visit func(N)) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if n, ok := n.(N); ok {
			visit(n)
		}
		return true
	})
}
