package abi

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The SDK is a module of its own and repeats the constants of this package that it needs.
func TestTheGoSDKSaysTheSame(t *testing.T) {
	t.Parallel()
	ours, sdk := constants(t, "abi.go"), constants(t, "go/codes.go")
	for name, value := range sdk {
		delete(sdk, name)
		name = strings.ToUpper(name[:1]) + name[1:]
		if name == "Continue" {
			name = "StopNone"
		}
		sdk[name] = value
	}
	for name, value := range sdk {
		want, ok := ours[name]
		switch {
		case !ok:
			t.Errorf("the SDK has %s, which is not in this package", name)
		case !constant.Compare(want, token.EQL, value):
			t.Errorf("%s is %v here and %v in the SDK", name, want, value)
		}
	}
	for name := range ours {
		numbers := slices.ContainsFunc([]string{"Field", "Err", "Result", "Ack", "Stop", "Level", "NoInt"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if _, ok := sdk[name]; numbers && !ok {
			t.Errorf("the SDK does not have %s", name)
		}
	}
}

func TestTheGoSDKImportsEveryFunction(t *testing.T) {
	t.Parallel()
	imports := map[string]string{} // "name params results" to the function of the SDK
	for _, d := range pragmas(t, "go/imports.go", "//go:wasmimport ") {
		module, name, _ := strings.Cut(d.argument, " ")
		if module != Module {
			t.Errorf("%s is imported from %s", name, module)
		}
		imports[name+" "+short(t, d.fn.Type.Params)+" "+short(t, d.fn.Type.Results)] = d.fn.Name.Name
	}
	for _, f := range Functions() {
		key := f.Name + " " + f.Params + " " + f.Results
		if _, ok := imports[key]; !ok {
			t.Errorf("the SDK does not import %q", key)
		}
		delete(imports, key)
	}
	for key := range imports {
		t.Errorf("the SDK imports %q, which is not offered", key)
	}
}

// An import is useful only if an author can reach it: the import from its adapter, and
// the adapter from the rest.
func TestTheGoSDKOffersEveryFunction(t *testing.T) {
	t.Parallel()
	adapters := called(t, "go/guest.go")
	for _, d := range pragmas(t, "go/imports.go", "//go:wasmimport ") {
		if !adapters[d.fn.Name.Name] {
			t.Errorf("%s is not called", d.fn.Name.Name)
		}
	}
	files, err := filepath.Glob("go/*.go")
	if err != nil {
		t.Fatal(err)
	}
	offered := map[string]bool{}
	for _, file := range files {
		if !strings.HasPrefix(filepath.Base(file), "fake") && !strings.HasSuffix(file, "_test.go") {
			maps.Copy(offered, called(t, file))
		}
	}
	methods := 0
	ast.Inspect(parsed(t, "go/host.go"), func(n ast.Node) bool {
		if i, ok := n.(*ast.InterfaceType); ok {
			for _, m := range i.Methods.List {
				methods++
				if !offered[m.Names[0].Name] {
					t.Errorf("nothing calls %s of the host", m.Names[0].Name)
				}
			}
		}
		return true
	})
	if methods != len(Functions()) {
		t.Errorf("the SDK's host has %d methods for %d functions", methods, len(Functions()))
	}
}

// Importing a package adds its exports to a module, so each entry has a package without
// other exports.
func TestTheGoSDKExportsEveryEntry(t *testing.T) {
	t.Parallel()
	wanted := map[string][]string{
		"go/guest.go":                     {ExportMarker},
		"go/simple/export.go":             {ExportExecute},
		"go/dataflow/export.go":           {ExportFetch, ExportProcess},
		"go/strategy/export.go":           {ExportShard},
		"go/listener/before/export.go":    {ExportBefore},
		"go/listener/after/export.go":     {ExportAfter},
		"go/listener/started/export.go":   {ExportStarted},
		"go/listener/completed/export.go": {ExportCompleted},
	}
	for _, pattern := range []string{"go/*.go", "go/*/*.go", "go/*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if _, ok := wanted[file]; !ok {
				wanted[file] = nil
			}
		}
	}
	for file, exports := range wanted {
		var got []string
		for _, d := range pragmas(t, file, "//go:wasmexport ") {
			got = append(got, d.argument)
			want := "i"
			if d.argument == ExportMarker {
				want = ""
			}
			if params, results := short(t, d.fn.Type.Params), short(t, d.fn.Type.Results); params != "" || results != want {
				t.Errorf("%s: %s has the type (%s) -> (%s)", file, d.argument, params, results)
			}
		}
		if !slices.Equal(got, exports) {
			t.Errorf("%s exports %v, wanted %v", file, got, exports)
		}
	}
}

func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// directed is a function with a directive for the compiler.
type directed struct {
	fn       *ast.FuncDecl
	argument string
}

func pragmas(t *testing.T, file, pragma string) []directed {
	t.Helper()
	var all []directed
	for _, d := range parsed(t, file).Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		for _, c := range fn.Doc.List {
			if argument, ok := strings.CutPrefix(c.Text, pragma); ok {
				all = append(all, directed{fn, argument})
			}
		}
	}
	return all
}

// short returns the types of a list in the short form of Function.
func short(t *testing.T, list *ast.FieldList) string {
	t.Helper()
	var all string
	if list == nil {
		return ""
	}
	for _, field := range list.List {
		name := ""
		switch typ := field.Type.(type) {
		case *ast.Ident:
			name = typ.Name
		case *ast.SelectorExpr:
			name = typ.Sel.Name
		}
		core, ok := map[string]string{"int32": "i", "Pointer": "i", "int64": "I", "float64": "F"}[name]
		if !ok {
			t.Fatalf("no rule for the type %v", field.Type)
		}
		all += strings.Repeat(core, max(1, len(field.Names)))
	}
	return all
}

// called returns the names of the functions and methods that a file calls, or uses as
// values.
func called(t *testing.T, file string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	ast.Inspect(parsed(t, file), func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.SelectorExpr:
			names[e.Sel.Name] = true
		case *ast.CallExpr:
			if id, ok := e.Fun.(*ast.Ident); ok {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}
