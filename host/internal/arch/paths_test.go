package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// treePath matches text that spells a node of the registry. A plain word such as
// "servers" does not match: it may be a key of jobs.toml.
var treePath = regexp.MustCompile(`(^|/)(leader/(election|sharding|failover)|sharding/|instances/|servers/|guarantee/|systemTime/|execution/|failover/(items|latch)|election/(instance|latch)|wasm/(module|members|assignment|runs|items|paused))`)

// nodeWords are names of nodes. On their own they indicate a path only in code that
// handles the tree.
var nodeWords = []string{"instances", "servers", "sharding", "leader", "guarantee", "systemTime", "necessary", "processing", "assignment", "runs", "misfire", "failover"}

// treeFolders handle the tree but must not know its names.
var treeFolders = []string{"host/registry", "host/internal/mirror", "host/internal/runner"}

// spellers may write paths: layout owns them, and interop tests read what members of
// ElasticJob write, also in ZooKeeper's log, and imitate ElasticJob's tools.
var spellers = []string{"host/internal/layout", "host/internal/layout/jobtree", "host/internal/layout/migration", "host/internal/layout/v21", "host/internal/layout/v3", "host/internal/layout/servertree", "test/interop", "test/interop/check", "test/record"}

func TestPathsOnlyInLayout(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, f := range p.main() {
		if f.rel == "host/internal/arch" || slices.Contains(spellers, f.rel) {
			continue
		}
		strict := slices.ContainsFunc(treeFolders, func(dir string) bool { return within(f.rel, dir) })
		for _, s := range f.files {
			if s.test && within(f.rel, "host/registry") {
				continue // a registry takes any path, and its tests need a few
			}
			for _, lit := range pathLiterals(s.ast, strict && !s.test) {
				t.Errorf("%s: %s spells a node of the registry: only layout does", p.at(lit), lit.Value)
			}
		}
	}
}

func TestPathsRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		strict bool
		want   bool
	}{
		{text: "leader/election/instance", want: true},
		{text: "/%s/%s/sharding/%d/instance", want: true},
		{text: "sharding/0/running", want: true},
		{text: "%s/instances/%s", want: true},
		{text: "wasm/runs", want: true},
		{text: "/ns/job/wasm/assignment", want: true},
		{text: "leader/failover/items", want: true},
		{text: "servers"},
		{text: "servers", strict: true, want: true},
		{text: "resharding waits", strict: true},
		{text: "the leader/follower pattern"},
		{text: "build/hello.wasm"},
		{text: "wasm/compile"},
	} {
		if got := spellsNode(c.text, c.strict); got != c.want {
			t.Errorf("%q (strict: %v): got %v, want %v", c.text, c.strict, got, c.want)
		}
	}
}

func spellsNode(text string, strict bool) bool {
	return treePath.MatchString(text) || strict && slices.Contains(nodeWords, text)
}

// pathLiterals returns the string literals that spell nodes, except for import paths and
// struct tags.
func pathLiterals(f *ast.File, strict bool) []*ast.BasicLit {
	var found []*ast.BasicLit
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				if text, err := strconv.Unquote(n.Value); err == nil && spellsNode(text, strict) {
					found = append(found, n)
				}
			}
		}
		return true
	})
	return found
}
