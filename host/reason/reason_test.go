package reason

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants are the codes that codes.go and faults.go declare, by the name of the constant.
func constants(t *testing.T) map[string]Code {
	t.Helper()
	all := map[string]Code{}
	for _, name := range []string{"codes.go", "faults.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		before := len(all)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all[spec.Names[0].Name] = Code(text)
			return false
		})
		if len(all) == before {
			t.Fatalf("%s declares no codes", name)
		}
	}
	return all
}

func TestEveryCodeHasWords(t *testing.T) {
	t.Parallel()
	codes := constants(t)
	spelled := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[Code]string{}
	for name, c := range codes {
		if other := seen[c]; other != "" {
			t.Errorf("%s and %s are both %q", name, other, c)
		}
		seen[c] = name
		if !spelled.MatchString(string(c)) {
			t.Errorf("%s is spelled %q", name, c)
		}
		if row, _ := rowOf(c); row.words == "" {
			t.Errorf("%s has no words", name)
		}
	}
	for c := range cures {
		if seen[c] == "" || faults[c].words != "" {
			t.Errorf("%q has a cure, and is no reason with a row in words.go", c)
		}
	}
	if len(table)+len(faults) != len(codes) || len(Codes()) != len(codes) {
		t.Errorf("%d codes, %d lines in the table", len(codes), len(table)+len(faults))
	}
}

// TestWordsAreOnes: Read finds a code by its words, so no two codes may have the same words.
func TestWordsAreOnes(t *testing.T) {
	t.Parallel()
	seen := map[string]Code{}
	for c, row := range table {
		if other, twice := seen[row.words]; twice && len(row.params) == 0 {
			t.Errorf("%s and %s say the same: %s", c, other, row.words)
		}
		seen[row.words] = c
	}
}

func TestWordsNameTheirParameters(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`\{([a-z_]+)\}`) // ${NAME} is a variable of a file
	for _, c := range Codes() {
		var in []string
		row, _ := rowOf(c)
		for _, m := range named.FindAllStringSubmatch(row.words+faults[c].hint+cures[c], -1) {
			in = append(in, m[1])
		}
		slices.Sort(in)
		if want := slices.Sorted(slices.Values(row.params)); !slices.Equal(slices.Compact(in), want) {
			t.Errorf("%s: its words name %q, the table %q", c, in, want)
		}
	}
}

// TestEveryCodeIsProduced: every code is used somewhere, with as many values as its row has
// parameters.
func TestEveryCodeIsProduced(t *testing.T) {
	t.Parallel()
	codes, produced := constants(t), map[string]bool{}
	root := filepath.Join("..", "..")
	for _, dir := range []string{"host", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if name := selected(n); name != "" {
					produced[name] = true
				}
				call, ok := n.(*ast.CallExpr)
				if !ok || selected(call.Fun) != "Of" || call.Ellipsis.IsValid() {
					return true
				}
				c, known := codes[selected(call.Args[0])]
				if row, _ := rowOf(c); known && len(call.Args)-1 != len(row.params) {
					t.Errorf("%s gives %s %d values, and it has the parameters %q", path, c, len(call.Args)-1, row.params)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range codes {
		if !produced[name] {
			t.Errorf("nothing gives %s", name)
		}
	}
}

// selected returns X for the expression reason.X, and "" for any other.
func selected(n ast.Node) string {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := s.X.(*ast.Ident); !ok || x.Name != "reason" {
		return ""
	}
	return s.Sel.Name
}

func TestReason(t *testing.T) {
	t.Parallel()
	r := Of(StrategyFailedKept, "a\x1fb")
	if want := "it failed, so items stay where they are: a b"; r.String() != want {
		t.Errorf("%q, want %q", r, want)
	}
	if got := r.Params(); !maps.Equal(got, map[string]string{"error": "a b"}) {
		t.Errorf("parameters %q", got)
	}
	if got := Of(ServerGone).Params(); got != nil {
		t.Errorf("parameters %q of a code without any", got)
	}
	if !Of("").None() || !Text("").None() || Text("x").None() || Of(ServerGone).None() {
		t.Error("none is the zero value alone")
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	for _, r := range []Reason{Of(NoServer), Of(IncludeNested, "jobs.toml")} {
		if hint := r.Hint(); hint == "" || strings.Contains(hint, "{") || r.WithHint() != r.String()+" ("+hint+")" {
			t.Errorf("%s: hint %q, in %q", r.Code, hint, r.WithHint())
		}
	}
	if r := Of(MonitorOff); r.Hint() != "" || r.WithHint() != r.String() {
		t.Errorf("hint %q, where the words say what to do", r.Hint())
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, r := range []Reason{{}, Of(ServerGone), Of(StrategyFailedKept, "x"), Text("what a guest says")} {
		if got := Read(r.Key(), r.String()); got != r {
			t.Errorf("%+v is read as %+v", r, got)
		}
	}
	for _, tt := range []struct {
		name, key, words string
		want             Reason
	}{
		{"an earlier release wrote words alone", "", "the server died or lost the registry", Of(ServerGone)},
		{"an earlier release said that the server died", "server_died_item_gone", "the server died; the item no longer exists", Of(ServerGoneItemGone)},
		{"in words alone", "", "the server died; failover is off", Of(ServerGoneFailoverOff)},
		{"words that never were those of a code", "", "it failed: no such file", Text("it failed: no such file")},
		{"better words of a later release", "server_gone", "the server is gone", Of(ServerGone)},
		{"a code of a later release", "on_holiday", "its owner is on holiday", Text("its owner is on holiday")},
	} {
		if got := Read(tt.key, tt.words); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
