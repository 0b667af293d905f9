package abi

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
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

// Every named function has a type, and every type belongs to one.
func TestTheTableHasEveryFunction(t *testing.T) {
	t.Parallel()
	var named, typed []string
	for name, value := range constants(t, "abi.go") {
		if strings.HasPrefix(name, "Func") {
			named = append(named, constant.StringVal(value))
		}
	}
	for _, f := range Functions() {
		typed = append(typed, f.Name)
		if f.When == 0 || f.Since > HostMinor {
			t.Errorf("%s is offered at no time, or by no host: %+v", f.Name, f)
		}
	}
	slices.Sort(named)
	slices.Sort(typed)
	if !slices.Equal(named, typed) {
		t.Errorf("named %v\ntyped %v", named, typed)
	}
}

// The file wasmjob.wit agrees with the table once its types are lowered as its comment
// says.
func TestTheWITSaysTheSame(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("wasmjob.wit")
	if err != nil {
		t.Fatal(err)
	}
	host, world, _ := strings.Cut(string(text), "world job")
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+): func\((.*?)\)(?: -> (.+))?;`).FindAllStringSubmatch(host, -1) {
		name := strings.ReplaceAll(m[1], "-", "_")
		params, results := lowered(t, m[2], m[3])
		got = append(got, name+" "+params+" "+results)
	}
	var want []string
	for _, f := range Functions() {
		want = append(want, f.Name+" "+f.Params+" "+f.Results)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("in WIT %q\nin Go  %q", got, want)
	}
	for _, export := range []string{ExportExecute, ExportFetch, ExportProcess, ExportShard, ExportBefore, ExportAfter, ExportStarted, ExportCompleted} {
		if !strings.Contains(world, "  export "+strings.TrimPrefix(export, "wasmjob_")+": func() -> s32;\n") {
			t.Errorf("the world has no %s", export)
		}
	}
	for list, prefix := range map[string]string{"error": "Err", "level": "Level", "stop": "Stop", "outcome": "Ack"} {
		body := regexp.MustCompile(`(?s)enum ` + list + ` \{(.*?)\}`).FindStringSubmatch(host)
		values := 0
		for name := range constants(t, "abi.go") {
			if strings.HasPrefix(name, prefix) {
				values++
			}
		}
		if body == nil || len(strings.FieldsFunc(body[1], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })) != values {
			t.Errorf("the enum %s does not have %d cases", list, values)
		}
	}
}

func lowered(t *testing.T, params, result string) (string, string) {
	t.Helper()
	var all string
	for param := range strings.SplitSeq(params, ", ") {
		if param == "" {
			continue
		}
		_, typ, _ := strings.Cut(param, ": ")
		core, ok := map[string]string{"u32": "i", "level": "i", "outcome": "i", "s64": "I", "f64": "F", "string": "ii", "list<u8>": "ii"}[typ]
		if !ok {
			t.Fatalf("no rule for the type %q", typ)
		}
		all += core
	}
	switch result {
	case "":
		return all, ""
	case "result<string, error>", "result<list<u8>, error>":
		return all + "ii", "i"
	case "result<_, error>", "result<u32, error>", "level", "stop":
		return all, "i"
	case "s64":
		return all, "I"
	}
	t.Fatalf("no rule for the result %q", result)
	return "", ""
}

// ABI.md mentions everything that has a name of its own.
func TestTheContractNamesEverything(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range constants(t, "abi.go") {
		if value.Kind() == constant.String && !strings.HasPrefix(name, "Func") && !strings.HasPrefix(name, "Export") && !strings.Contains(string(text), "`"+constant.StringVal(value)+"`") {
			t.Errorf("ABI.md does not tell of %s (%s)", name, value)
		}
	}
}
