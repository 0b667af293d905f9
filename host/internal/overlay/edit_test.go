package overlay

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	const text = `package p
func f(a, b int, c func(...int) bool) int {
	for i := a; i < b; i++ { // a comment
		if c(i) && a > 0 || !c(b) {
			a++
		}
	}
	c()
	return a
}`
	for _, c := range []struct {
		old, new, want string
	}{
		{"c(i)", "false", "(false && (c(i))) && a > 0 || !c(b)"},
		{"a > 0", "true", "c(i) && (true || (a > 0)) || !c(b)"},
		{"_ && a  >  0", "c(a)", "if c(a) || !c(b)"},
		{"for _ := _; _ < b; _++ {}", "for i := b; i > 0; i-- {}", "for i := b; i > 0; i-- {\n\t\tif"},
		{"a++", "a--", "a--"},
		{"a++", "", "if false {\n\t\t\t\ta++\n\t\t\t}"},
		{"c()", "", "if false {\n\t\tc()\n\t}"},
		{"c()", "c(1); c(2)", "{\n\t\tc(1)\n\t\tc(2)\n\t}"},
		{"c(_)", "false", ""},    // two places
		{"c(a...)", "false", ""}, // none
		{"a > 0", "return 1", ""},
		{"a >", "false", ""},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		fn := file.Decls[0].(*ast.FuncDecl)
		err = Edit{"p.f", c.old, c.new}.apply(fn)
		got, formatErr := formatted(fn)
		switch {
		case formatErr != nil:
			t.Error(formatErr)
		case (err != nil) != (c.want == ""):
			t.Errorf("%q by %q: error %v", c.old, c.new, err)
		case err == nil && !strings.Contains(got, c.want):
			t.Errorf("%q by %q: got\n%s", c.old, c.new, got)
		}
	}
}
