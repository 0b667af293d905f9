package arch

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// A rule of the conformance kit names its heading, or the word at the head of a
	// paragraph or of a number.
	ruleSpan = regexp.MustCompile(`"ABI\.md: ([^",]+)(?:, ([^"]+))?"`)
	// An exported name of a package, and perhaps a field or method of it.
	nameSpan = regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?(?:\\(\\w*\\))?`")
)

// TestConformanceNamesRules: who fails a case of the kit finds its rule in ABI.md.
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

// TestDocsNameIdentifiers: a name of Go that a document says is declared in a package
// of that name, and a field or method of it anywhere there.
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
				continue // no package of ours
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
