package reason

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

//go:generate go test -run ^TestReasonsPage$ -update .

var update = flag.Bool("update", false, "write the page")

// TestReasonsPage: docs/REASONS.md matches the tables of words and cures.
func TestReasonsPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/REASONS.md"
	want := reasonsPage(t)
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/REASONS.md is not the tables of host/reason: run make generate (%v)", err)
	}
}

// The page has a table for each block of constants in codes.go.
func reasonsPage(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("# Reasons\n\nGenerated from the tables of host/reason by `make generate`; do not edit. Scripts compare the codes, which stay;\n" +
		"the words may improve. `{name}` stands for a value, and *it* for the run, instant or job that the reason is about.\n" +
		"Where the third column is empty, the words say what to do, or there is nothing to be done. Faults of a configuration are not\n" +
		"here: `wasmjobd validate` says what to write instead.\n")
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		block := d.(*ast.GenDecl)
		heading := strings.TrimSuffix(strings.TrimSpace(block.Doc.Text()), ".")
		fmt.Fprintf(&b, "\n## %s\n\n| code: %s | says | do |\n|---|---|---|\n", heading, heading)
		for _, s := range block.Specs {
			text, err := strconv.Unquote(s.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", text, cell(table[Code(text)].words), cell(cures[Code(text)]))
		}
	}
	return b.Bytes()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
