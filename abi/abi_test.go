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
	"strconv"
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

// Every function that has a name has a type, and the other way round.
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

// The rows of ABI.md are "| `name` | `(a, b i32) -> (i32)` | since | …".
func TestTheContractHasTheTypes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `\\((.*?)\\) -> \\((.*?)\\)` \\| (\\d+) \\| (?:`?(\\w+)`? \\|)?").FindAllStringSubmatch(string(text), -1) {
		rows[m[1]] = m[2:]
	}
	grants := map[Grant]bool{GrantClock: true, GrantRandom: true, GrantState: true, GrantSecrets: true, GrantHTTP: true}
	for _, f := range Functions() {
		row, ok := rows[f.Name]
		if !ok {
			t.Errorf("ABI.md has no row for %s", f.Name)
			continue
		}
		grant := Grant(row[3])
		if !grants[grant] {
			grant = GrantNone // the column is about something else
		}
		if letters(row[0]) != f.Params || letters(row[1]) != f.Results || row[2] != strconv.Itoa(f.Since) || grant != f.Grant {
			t.Errorf("ABI.md has %v for %+v", row, f)
		}
		delete(rows, f.Name)
	}
	for name := range rows {
		t.Errorf("ABI.md has %s, which is not offered", name)
	}
}

// letters turns "a, b i32, c i64" into "iiI".
func letters(prose string) string {
	var all string
	waiting := 0
	for part := range strings.SplitSeq(prose, ",") {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		waiting++
		if letter, ok := map[string]string{"i32": "i", "i64": "I", "f64": "F"}[words[len(words)-1]]; ok {
			all += strings.Repeat(letter, waiting)
			waiting = 0
		}
	}
	return all
}

// wasmjob.wit says the same once its types are lowered as its comment says.
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
		letters, ok := map[string]string{"u32": "i", "level": "i", "outcome": "i", "s64": "I", "f64": "F", "string": "ii", "list<u8>": "ii"}[typ]
		if !ok {
			t.Fatalf("no rule for the type %q", typ)
		}
		all += letters
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
			strings.HasPrefix(name, "Level"), strings.HasPrefix(name, "Result"), strings.HasPrefix(name, "Ack"):
			want = "| " + want + " |"
		default:
			continue
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("ABI.md does not tell of %s (%s)", name, want)
		}
	}
}
