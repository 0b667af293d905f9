package arch

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// A rule of the conformance kit refers to a heading of ABI.md, or to the first word
	// of a paragraph or numbered item there.
	ruleSpan = regexp.MustCompile(`"ABI\.md: ([^",]+)(?:, ([^"]+))?"`)
	// An exported name of a package, perhaps with a field or method.
	nameSpan = regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?(?:\\(\\w*\\))?`")
)

// TestConformanceNamesRules checks that the rule of each case exists in ABI.md.
func TestConformanceNamesRules(t *testing.T) {
	t.Parallel()
	p := tree(t)
	page := p.read(t, "abi/ABI.md")
	found := 0
	for _, folder := range p.folders {
		for _, f := range folder.files {
			if folder.rel != "abi/conformance" {
				continue
			}
			for _, m := range ruleSpan.FindAllStringSubmatch(p.read(t, f.rel), -1) {
				if found++; !hasRule(page, m[1]) || m[2] != "" && !hasRule(page, m[2]) {
					t.Errorf("%s: ABI.md has no rule %q, %q", f.rel, m[1], m[2])
				}
			}
		}
	}
	if found < 10 || hasRule(page, "Nonsense") || !hasRule(page, "Rules") || hasRule(page, "99") {
		t.Errorf("found %d rules, or one that is not there", found)
	}
}

func hasRule(page, name string) bool {
	return regexp.MustCompile(`(?m)^(#+ ` + regexp.QuoteMeta(name) + `$|\*\*` + regexp.QuoteMeta(name) + `\.\*\*|` + regexp.QuoteMeta(name) + `\. )`).MatchString(page)
}

// TestDocsNameIdentifiers checks that a Go name in a document is declared in a package of
// that name, and that its field or method is declared anywhere there.
func TestDocsNameIdentifiers(t *testing.T) {
	t.Parallel()
	p := tree(t)
	declared := make(map[string][]string)
	for _, folder := range p.folders {
		for _, f := range folder.files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					declared[f.ast.Name.Name] = append(declared[f.ast.Name.Name], id.Name)
				}
				return true
			})
		}
	}
	found := 0
	for _, doc := range documents {
		for _, m := range nameSpan.FindAllStringSubmatch(p.read(t, doc), -1) {
			if declared[m[1]] == nil {
				continue // not one of our packages
			}
			found++
			for _, name := range m[2:] {
				if name != "" && !slices.Contains(declared[m[1]], name) {
					t.Errorf("%s names %s, and package %s has no %s", doc, strings.Trim(m[0], "`"), m[1], name)
				}
			}
		}
	}
	if found < 10 || slices.Contains(declared["trace"], "NoSuchName") {
		t.Errorf("found %d names, or one that is not there", found)
	}
}
