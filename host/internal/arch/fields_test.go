package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// divided are types that might collect unrelated fields. Each, and each struct of the
// same package that is part of it, has at most 20 fields.
var divided = map[string]string{"host/internal/runner": "member"}

const mostFields = 20

// TestMemberIsDivided keeps the fields of a member in parts that can be read on their
// own. TestStateIsDivided of package protocol does so for the core.
func TestMemberIsDivided(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for pkg, name := range divided {
		var files []*ast.File
		for _, f := range p.main() {
			for _, s := range f.files {
				if f.rel == pkg && !s.test {
					files = append(files, s.ast)
				}
			}
		}
		for _, fault := range crowded(files, name) {
			t.Errorf("%s: %s", pkg, fault)
		}
	}
}

func TestMemberIsDividedRefuses(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("_ int\n", mostFields)
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
type whole struct { *embedded; one, two, three int; part part; shared *other; list []other }
type embedded struct { deep struct{}; inner inner }
type inner struct { a int
`+many+`}
type part struct {
`+many+`}
type other struct { a int
`+many+`}
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(crowded([]*ast.File{f}, "whole"), "\n")
	if got != "inner has 21 fields, at most 20 may be: divide it" {
		t.Errorf("found %q", got)
	}
	if got := crowded([]*ast.File{f}, "none"); len(got) != 1 || got[0] != "there is no struct none" {
		t.Errorf("a type that is not there: %q", got)
	}
}

// crowded returns faults in a struct and its parts: the structs that it embeds or has as
// values.
func crowded(files []*ast.File, name string) (faults []string) {
	structs := map[string]*ast.StructType{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	if structs[name] == nil {
		return []string{"there is no struct " + name}
	}
	parts := []string{name}
	for k := 0; k < len(parts); k++ {
		fields := 0
		for _, field := range structs[parts[k]].Fields.List {
			fields += max(len(field.Names), 1)
			of := field.Type
			if star, ok := of.(*ast.StarExpr); ok && len(field.Names) == 0 {
				of = star.X
			}
			if id, ok := of.(*ast.Ident); ok && structs[id.Name] != nil && !slices.Contains(parts, id.Name) {
				parts = append(parts, id.Name)
			}
		}
		if fields > mostFields {
			faults = append(faults, fmt.Sprintf("%s has %d fields, at most %d may be: divide it", parts[k], fields, mostFields))
		}
	}
	return faults
}
