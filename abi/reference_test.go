package abi

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

//go:generate go test -run ^TestReference$ -update .

// TestReference checks that REFERENCE.md agrees with abi.go and functions.go.
func TestReference(t *testing.T) {
	t.Parallel()
	const page = "REFERENCE.md"
	want := reference(t)
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the constants say: run make generate (%v)", page, err)
	}
}

func reference(t *testing.T) []byte {
	t.Helper()
	says := meanings(t)
	var b bytes.Buffer
	b.WriteString("# Exports, functions, fields and codes of version 1\n\nGenerated from abi.go and functions.go by `make generate`; do not edit. " +
		"[ABI.md](ABI.md) says how they work together.\n\n## Functions\n\nAll are in the module `" + Module + "`. A host has a function if its field 107 is at least *since*. " +
		"A function that is called at another time than *when* answers -10, or does nothing if it has no result.\n\n" +
		"| function | type | since | grant | when | what it does |\n|---|---|---|---|---|---|\n")
	for _, f := range Functions() {
		m := arguments.FindStringSubmatch(says["Func "+f.Name])
		if m == nil {
			t.Fatalf("the comment of %s does not begin with its arguments: %q", f.Name, says["Func "+f.Name])
		}
		fmt.Fprintf(&b, "| `%s` | `(%s) -> (%s)` | %d | %s | %s | %s |\n", f.Name, typed(t, m[1], f.Params), typed(t, "", f.Results), f.Since, f.Grant, whenOf(f.When), m[2])
	}
	for _, list := range []struct{ prefix, title, head, text string }{
		{"Export", "Exports", "export", "Exported functions have the type `() -> (i32)`, but `wasmjob_abi_v1`, `_initialize` and `_start` `() -> ()`."},
		{"Field", "Fields", "field", "Text fields (below 100) are read with `ctx_str`, which answers -3 for a field without a value; the others with `ctx_int`. Moments are milliseconds since 1970, or 0 if there is none. A number field that has no meaning in a strategy is 0 there."},
		{"Result", "Results", "result of an entry", "What an entry returns. 4 to 127 are reserved, and negative numbers mean that an SDK was misused; both count as failed."},
		{"Err", "Error codes", "error code of a function", "The list grows only at its end."},
		{"Ack", "Outcomes of an element", "outcome", ""},
		{"Stop", "Stop reasons", "stop reason", ""},
		{"Level", "Levels", "level of a log line", ""},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n", list.title)
		if list.text != "" {
			b.WriteString(list.text + "\n\n")
		}
		b.WriteString("| " + list.head + " | meaning |\n|---|---|\n")
		for _, c := range constantsOf(t) {
			if strings.HasPrefix(c.name, list.prefix) {
				fmt.Fprintf(&b, "| %s | %s |\n", strings.ReplaceAll(c.value, `"`, "`"), c.text)
			}
		}
	}
	return b.Bytes()
}

var arguments = regexp.MustCompile(`^\((.*?)\) (.*)$`)

// typed converts "a, b" and "iI" to "a i32, b i64", and "a, b" and "ii" to "a, b i32".
func typed(t *testing.T, names, core string) string {
	t.Helper()
	words := map[rune]string{'i': "i32", 'I': "i64", 'F': "f64"}
	var all []string
	if names == "" {
		for _, l := range core {
			all = append(all, words[l])
		}
		return strings.Join(all, ", ")
	}
	each := strings.Split(names, ", ")
	if len(each) != len(core) {
		t.Fatalf("%d names for the types %q: %s", len(each), core, names)
	}
	for i, name := range each {
		if i+1 == len(each) || core[i] != core[i+1] {
			name += " " + words[rune(core[i])]
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

func whenOf(p Phase) string {
	for _, w := range []struct {
		phases Phase
		text   string
	}{
		{Anytime, ""}, {InJob, "in jobs"}, {InRun | InFetch | InProcess, "in runs of items, but not in `_initialize`"},
		{InFetch, "in fetch"}, {InProcess, "in process"}, {InShard, "in a strategy"},
	} {
		if p == w.phases {
			return w.text
		}
	}
	return fmt.Sprint(p)
}

type constantOf struct{ name, value, text string }

// constantsOf returns the constants of abi.go with their comments.
func constantsOf(t *testing.T) []constantOf {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "abi.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var all []constantOf
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value := ""
		switch e := v.Values[0].(type) {
		case *ast.BasicLit:
			value = e.Value
		case *ast.UnaryExpr:
			value = e.Op.String() + e.X.(*ast.BasicLit).Value
		}
		c := v.Comment
		if c == nil {
			c = v.Doc
		}
		text := strings.TrimPrefix(strings.Join(strings.Fields(c.Text()), " "), v.Names[0].Name+" ")
		all = append(all, constantOf{v.Names[0].Name, value, strings.TrimSuffix(text, ".")})
		return true
	})
	return all
}

// meanings returns the comments of functions, by their names in the module.
func meanings(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, c := range constantsOf(t) {
		if name, err := strconv.Unquote(c.value); err == nil && strings.HasPrefix(c.name, "Func") {
			all["Func "+name] = c.text
		}
	}
	return all
}
