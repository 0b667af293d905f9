package abi

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// constants evaluates the constants of one file that imports nothing.
func constants(t *testing.T, file string) map[string]constant.Value {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check("p", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]constant.Value{}
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok {
			all[name] = c.Val()
		}
	}
	return all
}

// The SDK is a module of its own and repeats what it needs of this package.
func TestTheGoSDKSaysTheSame(t *testing.T) {
	t.Parallel()
	ours, sdk := constants(t, "abi.go"), constants(t, "go/codes.go")
	same := 0
	for name, value := range sdk {
		name = strings.ToUpper(name[:1]) + name[1:]
		if name == "Continue" {
			name = "StopNone"
		}
		want, ok := ours[name]
		switch {
		case !ok:
			t.Errorf("the SDK has %s, which is not in this package", name)
		case !constant.Compare(want, token.EQL, value):
			t.Errorf("%s is %v here and %v in the SDK", name, want, value)
		default:
			same++
		}
	}
	if same < 40 {
		t.Errorf("only %d constants compared", same)
	}
}

func TestTheGoSDKImportsEveryFunction(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("go/imports.go")
	if err != nil {
		t.Fatal(err)
	}
	var imports []string
	for _, m := range regexp.MustCompile(`(?m)^//go:wasmimport (\w+) (\w+)$`).FindAllSubmatch(src, -1) {
		if string(m[1]) != Module {
			t.Errorf("import from %s", m[1])
		}
		imports = append(imports, string(m[2]))
	}
	if want := functions(t); !slices.Equal(slices.Sorted(slices.Values(imports)), want) {
		t.Errorf("the SDK imports %v, the host offers %v", imports, want)
	}
	exports, err := os.ReadFile("go/exports.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ExportMarker, ExportExecute} {
		if !strings.Contains(string(exports), "//go:wasmexport "+name+"\n") {
			t.Errorf("the SDK does not export %s", name)
		}
	}
}

func functions(t *testing.T) []string {
	t.Helper()
	var names []string
	all := constants(t, "abi.go")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, "Func") {
			names = append(names, constant.StringVal(all[name]))
		}
	}
	slices.Sort(names)
	return names
}

// The contract in prose has a word on everything that has a name.
func TestTheContractNamesEverything(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range constants(t, "abi.go") {
		want := value.ExactString()
		switch {
		case value.Kind() == constant.String:
			want = "`" + constant.StringVal(value) + "`"
		case strings.HasPrefix(name, "Field"), strings.HasPrefix(name, "Err"), strings.HasPrefix(name, "Stop"),
			strings.HasPrefix(name, "Level"), strings.HasPrefix(name, "Result"):
			want = "| " + want + " |"
		default:
			continue
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("ABI.md does not tell of %s (%s)", name, want)
		}
	}
}
