package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// openingWord matches a word in lower case at the beginning of a comment, as unexported
// names are.
var openingWord = regexp.MustCompile(`^[a-z_][A-Za-z0-9_]*`)

// TestCommentsNameTheirFunction finds comments that a rename has left behind.
func TestCommentsNameTheirFunction(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, f := range p.main() {
		for _, s := range f.files {
			for _, fn := range namedOtherwise(s.ast) {
				t.Errorf("%s: the comment of %s begins with another name", p.at(fn), fn.Name.Name)
			}
		}
	}
}

// namedOtherwise returns the functions whose comments begin with another name.
func namedOtherwise(f *ast.File) (all []*ast.FuncDecl) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		word := openingWord.FindString(strings.TrimSpace(fn.Doc.Text()))
		if word != "" && word != fn.Name.Name {
			all = append(all, fn)
		}
	}
	return all
}

func TestCommentsNameTheirFunctionRefuses(t *testing.T) {
	t.Parallel()
	const text = `package x

// a is one.
func a() {}

// Once there was one.
func b() {}

// before is another.
func c() {}

func d() {}
`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got := namedOtherwise(f); len(got) != 1 || got[0].Name.Name != "c" {
		t.Errorf("refused %v, want c alone", got)
	}
}
