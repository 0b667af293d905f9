package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pureFolders hold the code that the simulator replays: equal inputs must give equal
// outputs, byte by byte and in the same order.
var pureFolders = []string{"host/internal/admission", "host/internal/definition", "host/internal/discovery", "host/internal/protocol", "host/internal/mirror", "host/internal/follow", "host/registry/tree"}

// pureExtra lists what a pure package may import of the standard library in addition to
// the common list.
var pureExtra = map[string][]string{
	"host/internal/admission":  {"reflect"}, // it compares grants
	"host/internal/definition": {"crypto/sha256", "encoding/hex", "encoding/json", "io", "reflect"},
	"host/registry/tree":       {"encoding/binary", "hash/crc32", "path", "unicode/utf8"},
}

// impureCalls are functions of allowed packages that depend on the environment.
var impureCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker", "LoadLocation", "Local"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},

	modulePath + "/host/internal/backoff": {"Backoff", "Spread"}, // uses random numbers
}

func TestPure(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, rel := range pureFolders {
		if !p.has(rel) {
			t.Logf("listed and not there: %s", rel)
			continue
		}
		t.Run(rel, func(t *testing.T) {
			t.Parallel()
			for _, f := range impurities(t, p.root, rel) {
				t.Errorf("%s: %s: %s is pure, or a run cannot be replayed", f.pos, f.what, rel)
			}
		})
	}
}

// TestPureRefuses runs the same check on a sample. Its comments list the expected
// findings, and there must be no others.
func TestPureRefuses(t *testing.T) {
	t.Parallel()
	p := tree(t)
	const rel = "host/internal/arch/testdata/impure"
	want := wanted(t, filepath.Join(p.root, rel, "impure.go"))
	got := make(map[int]string)
	for _, f := range impurities(t, p.root, rel) {
		got[f.pos.Line] += f.what
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

var wantComment = regexp.MustCompile(`// want: (.*)$`)

func wanted(t *testing.T, name string) map[int]string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[int]string)
	for i, line := range strings.Split(string(b), "\n") {
		if m := wantComment.FindStringSubmatch(line); m != nil {
			want[i+1] = m[1]
		}
	}
	if len(want) == 0 {
		t.Fatalf("%s expects nothing", name)
	}
	return want
}

// finding is one breach.
type finding struct {
	pos  token.Position
	what string
}

// impurities type-checks the package in rel, without its tests, and lists everything that
// could make two runs differ.
func impurities(t *testing.T, root, rel string) []finding {
	t.Helper()
	w := check(t, root, rel)
	for _, f := range w.files {
		ast.Inspect(f, w.visit)
		w.mapRanges(f)
	}
	slices.SortFunc(w.found, func(a, b finding) int { return a.pos.Offset - b.pos.Offset })
	return w.found
}

// walk is a type-checked package with its findings.
type walk struct {
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
	info  *types.Info
	found []finding
}

func (w *walk) report(n ast.Node, format string, args ...any) {
	w.found = append(w.found, finding{w.fset.Position(n.Pos()), fmt.Sprintf(format, args...)})
}

func check(t *testing.T, root, rel string) *walk {
	t.Helper()
	w := &walk{fset: token.NewFileSet(), info: &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue),
		Uses:  make(map[*ast.Ident]types.Object),
		Defs:  make(map[*ast.Ident]types.Object),
	}}
	names, err := filepath.Glob(filepath.Join(root, rel, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(w.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		w.files = append(w.files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(w.fset, "gc", exportData(t, root, rel))}
	w.pkg, err = conf.Check(modulePath+"/"+rel, w.fset, w.files, w.info)
	if err != nil {
		t.Fatalf("type-check %s: %v", rel, err)
	}
	return w
}

// exportData asks the go command for the compiled interfaces of the packages that rel
// imports; they come from the build cache.
func exportData(t *testing.T, root, rel string) importer.Lookup {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", "./"+rel)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -export %s: %v\n%s", rel, err, stderr.String())
	}
	files := make(map[string]string)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
	return func(imp string) (io.ReadCloser, error) { return os.Open(files[imp]) }
}

// visit checks one node for concurrency, clocks and written variables.
func (w *walk) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		w.report(n, "go statement")
	case *ast.SelectStmt:
		w.report(n, "select")
	case *ast.SendStmt:
		w.report(n, "channel send")
	case *ast.ChanType:
		w.report(n, "channel type")
	case *ast.ImportSpec:
		if imp := importPath(n); std(imp) && !slices.Contains(pureStd, imp) && !slices.ContainsFunc(pureFolders, func(rel string) bool {
			return strings.HasSuffix(w.pkg.Path(), rel) && slices.Contains(pureExtra[rel], imp)
		}) {
			w.report(n, "import of %s", imp)
		}
	case *ast.SelectorExpr:
		obj := w.info.Uses[n.Sel]
		if obj != nil && obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() && slices.Contains(impureCalls[obj.Pkg().Path()], obj.Name()) {
			w.report(n, "use of %s.%s", obj.Pkg().Name(), obj.Name())
		}
	case *ast.AssignStmt:
		for _, lhs := range n.Lhs {
			w.write(lhs)
		}
	case *ast.IncDecStmt:
		w.write(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			w.write(n.Key)
			w.write(n.Value)
		}
	case *ast.UnaryExpr:
		switch n.Op {
		case token.ARROW:
			w.report(n, "channel receive")
		case token.AND:
			w.write(n.X)
		}
	case *ast.CallExpr:
		w.call(n)
	}
	return true
}

// write reports n if it is a variable of the package, or part of one.
func (w *walk) write(n ast.Expr) {
	for n != nil {
		switch e := n.(type) {
		case *ast.ParenExpr:
			n = e.X
		case *ast.IndexExpr:
			n = e.X
		case *ast.SliceExpr:
			n = e.X
		case *ast.StarExpr:
			n = e.X
		case *ast.SelectorExpr:
			n = e.X
		case *ast.Ident:
			if v, ok := w.info.Uses[e].(*types.Var); ok && v.Parent() == w.pkg.Scope() {
				w.report(e, "write to the package variable %s", v.Name())
			}
			return
		default:
			return
		}
	}
}

// call checks for writes by built-ins and by methods with pointer receivers, and for map
// iterators that are not sorted at once.
func (w *walk) call(c *ast.CallExpr) {
	if id, ok := c.Fun.(*ast.Ident); ok && len(c.Args) > 0 {
		if b, ok := w.info.Uses[id].(*types.Builtin); ok && slices.Contains([]string{"delete", "clear", "copy"}, b.Name()) {
			w.write(c.Args[0])
		}
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if fn, ok := w.info.Uses[sel.Sel].(*types.Func); ok {
		if recv := fn.Signature().Recv(); recv != nil {
			if _, ptr := recv.Type().(*types.Pointer); ptr {
				w.write(sel.X)
			}
		}
	}
	for _, name := range []string{"Keys", "Values", "All"} {
		if w.is(sel, "maps", name) && !w.sortedAtOnce(c) {
			w.report(c, "maps.%s without slices.Sorted around it", name)
		}
	}
}

func (w *walk) is(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn, ok := w.info.Uses[sel.Sel].(*types.Func)
	return ok && fn.Pkg() != nil && fn.Pkg().Path() == pkg && fn.Name() == name
}

// sortedAtOnce reports whether c is the first argument of a sorting collector.
func (w *walk) sortedAtOnce(c *ast.CallExpr) bool {
	found := false
	for _, f := range w.files {
		if c.Pos() < f.Pos() || c.Pos() > f.End() {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			outer, ok := n.(*ast.CallExpr)
			if ok && len(outer.Args) > 0 && outer.Args[0] == c {
				for _, name := range []string{"Sorted", "SortedFunc", "SortedStableFunc"} {
					found = found || w.is(outer.Fun, "slices", name)
				}
			}
			return !found
		})
	}
	return found
}

// mapRanges reports loops over maps, except for loops that only append to a slice that
// the same function sorts afterwards.
func (w *walk) mapRanges(f *ast.File) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			r, ok := n.(*ast.RangeStmt)
			if !ok {
				return true
			}
			switch w.info.TypeOf(r.X).Underlying().(type) {
			case *types.Map:
				if !w.collectsAndSorts(r, fn.Body) {
					w.report(r, "range over a map")
				}
			case *types.Chan:
				w.report(r, "range over a channel")
			}
			return true
		})
	}
}

func (w *walk) collectsAndSorts(r *ast.RangeStmt, body *ast.BlockStmt) bool {
	var collected []types.Object
	if len(r.Body.List) == 0 {
		return false
	}
	for _, s := range r.Body.List {
		as, ok := s.(*ast.AssignStmt)
		if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
			return false
		}
		call, ok := as.Rhs[0].(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := call.Fun.(*ast.Ident)
		if !ok {
			return false
		}
		b, ok := w.info.Uses[id].(*types.Builtin)
		if !ok || b.Name() != "append" {
			return false
		}
		slice, ok := as.Lhs[0].(*ast.Ident)
		if !ok {
			return false
		}
		collected = append(collected, w.info.ObjectOf(slice))
	}
	for _, obj := range collected {
		if !w.sortedAfter(r.End(), obj, body) {
			return false
		}
	}
	return true
}

func (w *walk) sortedAfter(pos token.Pos, obj types.Object, body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok || c.Pos() < pos || len(c.Args) == 0 {
			return true
		}
		id, ok := c.Args[0].(*ast.Ident)
		if !ok || w.info.Uses[id] != obj {
			return true
		}
		for _, name := range []string{"Sort", "SortFunc", "SortStableFunc"} {
			found = found || w.is(c.Fun, "slices", name)
		}
		return !found
	})
	return found
}
