package admin

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:generate go test -run ^TestPage$ -update .

var update = flag.Bool("update", false, "write the page of the API anew")

// TestPage: docs/API.md is what the routes and the comments of their functions say.
func TestPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/API.md"
	want := readAPI(t).page()
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/API.md is not what the routes say: run make generate (%v)", err)
	}
}

// api is what the source of this package says of its routes.
type api struct {
	paths  map[string]string // constants
	funcs  map[string]*ast.FuncDecl
	routes map[string]string // method and path: the function that answers
	calls  map[string]string // the calls of a job
	// literal is read when all functions are known.
	literal *ast.CompositeLit
}

func readAPI(t *testing.T) *api {
	t.Helper()
	a := &api{paths: map[string]string{}, funcs: map[string]*ast.FuncDecl{}, routes: map[string]string{}, calls: map[string]string{}}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "client") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, a.declared)
	}
	ast.Inspect(a.funcs["NewHandler"], a.routed)
	a.pairs(a.literal, a.calls)
	for route, name := range a.routes {
		if !a.documented(name) {
			t.Fatalf("%s: the function %q has no comment", route, name)
		}
	}
	if len(a.routes) < 14 || len(a.calls) < 9 {
		t.Fatalf("found %d routes and %d calls: the page no longer reads the code", len(a.routes), len(a.calls))
	}
	return a
}

// declared notes constants, functions and the calls of a job.
func (a *api) declared(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		a.funcs[n.Name.Name] = n
	case *ast.ValueSpec:
		for i, v := range n.Values {
			switch v := v.(type) {
			case *ast.BasicLit:
				a.paths[n.Names[i].Name], _ = strconv.Unquote(v.Value)
			case *ast.CompositeLit:
				if n.Names[i].Name == "jobCalls" {
					a.literal = v
				}
			}
		}
	}
	return true
}

// routed notes the routes: the pairs of a literal, and calls of handle.
func (a *api) routed(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if _, ok := n.Type.(*ast.MapType); ok {
			a.pairs(n, a.routes)
		}
	case *ast.CallExpr:
		if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "handle" && len(n.Args) == 2 {
			if pattern := a.text(n.Args[0]); pattern != "" {
				a.routes[pattern] = a.answers(n.Args[1])
			}
		}
	}
	return true
}

func (a *api) pairs(lit *ast.CompositeLit, to map[string]string) {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key := a.text(kv.Key); key != "" {
				to[key] = a.answers(kv.Value)
			}
		}
	}
}

// text evaluates a sum of strings and constants.
func (a *api) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.Ident:
		return a.paths[e.Name]
	case *ast.BinaryExpr:
		return a.text(e.X) + a.text(e.Y)
	}
	return ""
}

// answers is the function of this package that an expression names or calls last.
func (a *api) answers(e ast.Expr) string {
	name := ""
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && a.documented(id.Name) {
			name = id.Name
		}
		return true
	})
	return name
}

func (a *api) documented(name string) bool { return a.funcs[name] != nil && a.funcs[name].Doc != nil }

func (a *api) page() []byte {
	var b bytes.Buffer
	b.WriteString("# API for operators\n\nGenerated from the routes of host/admin by `make generate`; do not edit. [OPERATIONS](OPERATIONS.md#the-registry-inside) says " +
		"who may use it, and how answers look. As in `curl --unix-socket data/admin/socket http://localhost/api/v1/jobs`.\n\n" +
		"| request | query | body | what it does |\n|---|---|---|---|\n")
	for _, route := range slices.SortedFunc(maps.Keys(a.routes), byPath) {
		if a.routes[route] == "callJob" {
			for _, call := range slices.Sorted(maps.Keys(a.calls)) {
				var text string
				if name := a.calls[call]; name == "" || name == "callVerb" {
					text = "as `job " + call + "`"
				} else {
					text = a.says(name)
				}
				a.row(&b, strings.Replace(route, "{call}", "{job}:"+call, 1), a.calls[call], text)
			}
			continue
		}
		a.row(&b, strings.Replace(route, "{call}", "{what}:{call}", 1), a.routes[route], a.says(a.routes[route]))
	}
	return b.Bytes()
}

func byPath(x, y string) int {
	m, p, _ := strings.Cut(x, " ")
	n, q, _ := strings.Cut(y, " ")
	return strings.Compare(p+m, q+n)
}

func (a *api) row(b *bytes.Buffer, route, function, text string) {
	what := "{address}"
	if strings.Contains(route, "/shards/") {
		what = "{item}"
	}
	route = strings.Replace(route, "{what}", what, 1)
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", route, a.keys(function, "readQuery"), a.keys(function, "readBody"), text)
}

func (a *api) says(name string) string {
	text := strings.Join(strings.Fields(a.funcs[name].Doc.Text()), " ")
	return strings.TrimSuffix(strings.TrimPrefix(text, name+" "), ".")
}

// keys are those that a function takes of a query or a body.
func (a *api) keys(function, reader string) string {
	var all []string
	if a.funcs[function] == nil {
		return ""
	}
	ast.Inspect(a.funcs[function], func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); !ok || s.Sel.Name != reader {
			return true
		}
		if lit, ok := call.Args[0].(*ast.CompositeLit); ok {
			for _, e := range lit.Elts {
				all = append(all, "`"+a.text(e.(*ast.KeyValueExpr).Key)+"`")
			}
		}
		return true
	})
	return strings.Join(all, ", ")
}
