package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// retiredWord is a word that identifiers no longer use.
type retiredWord struct {
	forms   string   // the forms of the word in identifiers, separated by spaces
	meaning string   // its former meaning, and the present word for that
	only    []string // packages in which it is retired; nil for all
	stays   []string // identifiers in which it means something else
}

var retiredWords = []retiredWord{
	{forms: "stranger strangers beside apart", meaning: "what is not of this program: foreign; a process of its own: subprocess"},
	{forms: "prospect prospects", meaning: "a job of the registry that no file has: candidate"},
	{forms: "scout scouts", meaning: "the search for candidates: discovery"},
	{forms: "hindrance hindrances ail ails lacks", meaning: "what keeps a server from a job: blocker"},
	{forms: "caution cautions contrary", meaning: "warning"},
	{forms: "ceiling ceilings excess", meaning: "what a server grants at most: grant limit; more than that: grant violation"},
	{forms: "gear geared equip equips equipped guardian guardians", meaning: "prepared code, its lease"},
	{forms: "errand errands", meaning: "work that several callers share: single flight"},
	{forms: "shade shades", meaning: "shadow job"},
	{forms: "library libraries shelf shelves", meaning: "module store"},
	{forms: "hire hires hired dismiss dismisses dismissed", meaning: "start jobs, stop jobs"},
	{forms: "thrift thrifty", meaning: "tune the collector while starting"},
	{forms: "letter letters mailbox rouse roused", meaning: "message, inbox, wake"},
	{forms: "trunk trunks", meaning: "session"},
	{forms: "judge judges judged", meaning: "session health; what turns a result into an outcome; the adapter of the conformance kit"},
	{forms: "crew crews", meaning: "workers of the pool, subtasks of a dataflow"},
	{forms: "deal deals dealt dealing dealer", meaning: "which server has which item: assign, assignment", stays: []string{"Deal"}}, // of the SDKs
	{forms: "heed heeds heeded bars", meaning: "say what it is: stop reasons, generations"},
	{forms: "bereft mourn mourns ripe puzzled unserved overlooked", meaning: "predicates that state the fact: ownerGone, retryDue"},
	{forms: "vouch vouches vouched witness witnesses", meaning: "evidence, guarantee"},
	{forms: "orphan orphans orphaned", meaning: "pending run, abandoned mark"},
	{forms: "tell tells told hear hears heard", meaning: "publish, notify, receive, report"},

	{forms: "wants", meaning: "what prepared code depends on: key", only: []string{"host/internal/supply"}},
	{forms: "lives", meaning: "generations: one member after another", only: []string{"host/internal/runner"}},
	{forms: "handed ruled unstop hush", meaning: "what the core has, or what is cancelled", only: []string{"host/internal/runner"}},
	{forms: "depart departs departed drained", meaning: "the drain: begin it, end a phase of it", only: []string{"host/internal/runner"}},
	{forms: "java javas", meaning: "what is not of this program: foreign", only: []string{scriptsFolder}},
	{forms: "swap swaps", meaning: "to replace a module by the next one: switch", only: []string{scriptsFolder}},
	{forms: "enqueue enqueues enqueued", meaning: "to end a dead member's record: reclaim", only: []string{"host/internal/protocol", scriptsFolder}},
	{forms: "who whom whoever somebody", meaning: "which one: a member, a server, an operator", only: []string{scriptsFolder}},

	{forms: "wish wishes wished", meaning: "what an operator asks for: request", only: []string{"host/internal/protocol", scriptsFolder}},
	{forms: "strip strips stripped unpend disown disowns disowned", meaning: "to delete owners' nodes, or pending runs", only: []string{"host/internal/protocol", "host/internal/layout/jobtree", "host/internal/sim", scriptsFolder}},

	{forms: "spite spites plot plots steer steers steered author authors vandal", meaning: "fault injector, race, driver, origin of a transaction", only: []string{"host/internal/sim"}},

	{forms: "desk desks", meaning: "the files that an instance has open", only: []string{"host/internal/sandbox"}},
	{forms: "jail jails jailed", meaning: "root directory", only: []string{"host/internal/sandbox"}},
	{forms: "dice", meaning: "random source", only: []string{"host/internal/sandbox"}},
	{forms: "anatomy anatomies", meaning: "a module that was decoded", only: []string{"host/internal/sandbox"}},
	{forms: "tail tails", meaning: "the last bytes of a stream", only: []string{"host/internal/sandbox"}},
	{forms: "round rounds", meaning: "iteration of a loop", only: []string{"host/internal/meter", "host/internal/sandbox"}},
}

// TestRetiredWords checks that code uses the words of the glossary and no synonyms. It
// covers every package of the main module. Guests are modules of their own.
func TestRetiredWords(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, r := range retiredWords {
		for _, pkg := range r.only {
			if pkg != scriptsFolder && !p.has(pkg) {
				t.Errorf("%s: there is no package %s", r.forms, pkg)
			}
		}
	}
	for _, f := range p.main() {
		for _, s := range f.files {
			for _, fault := range retiredIn(f.rel, path.Base(s.rel), s.ast) {
				t.Errorf("%s: %s", p.at(fault.node), fault.why)
			}
		}
	}
}

// TestGlossaryIsShort keeps the glossary learnable: its words are few, sorted, and
// unique.
func TestGlossaryIsShort(t *testing.T) {
	t.Parallel()
	const most = 80
	_, glossary, found := strings.Cut(tree(t).read(t, "docs/PROTOCOL.md"), "\n## Glossary\n")
	var words []string
	for line := range strings.Lines(glossary) {
		if cells := strings.Split(line, "|"); len(cells) == 4 && cells[1] != "---" && cells[1] != " word " {
			words = append(words, strings.ToLower(strings.TrimSpace(cells[1])))
		}
	}
	if !found || len(words) == 0 || len(words) > most {
		t.Errorf("the glossary has %d words, at most %d may be", len(words), most)
	}
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Errorf("the words are not in order, or one stands there twice: %q", words)
	}
}

func TestRetiredWordsRefuses(t *testing.T) {
	t.Parallel()
	const text = `package x
type jailFS struct{ openDesk int }
type reader interface{ HearAll(scouts []int) }
func (j *jailFS) run() (crew int) {
	for errand := range 3 { crew += errand }
	wasTold, ideal := true, "a jail in a text"
	_, _ = wasTold, ideal
	return strings.Heard
}
`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fault := range retiredIn("host/internal/sandbox", "dice_linux_test.go", f) {
		got = append(got, fault.name)
	}
	slices.Sort(got)
	want := []string{"HearAll", "crew", "dice_linux_test.go", "errand", "jailFS", "openDesk", "scouts", "wasTold"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if r := (retiredWord{forms: "desk", only: []string{"host/x"}}); r.has("host/y", "desk") || !r.has("host/x", "desk") {
		t.Error("a word that is retired in one package was refused in another")
	}
	r := retiredWord{forms: "dice", stays: []string{"diceRoll"}}
	if r.has("host/x", "diceRoll") || !r.has("host/x", "rollDICE") {
		t.Error("an identifier that stays was refused, or one that does not was not")
	}
}

type wordFault struct {
	node      ast.Node
	name, why string
}

// retiredIn returns the names that a file declares, including its own, that contain a
// retired word.
func retiredIn(pkg, file string, f *ast.File) []wordFault {
	var faults []wordFault
	check := func(n ast.Node, name string) {
		for _, r := range retiredWords {
			if r.has(pkg, name) {
				faults = append(faults, wordFault{n, name, name + " has a retired word; write " + r.meaning})
			}
		}
	}
	for _, id := range declared(f) {
		check(id, id.Name)
	}
	check(f.Name, file)
	return faults
}

func (r retiredWord) has(pkg, name string) bool {
	if r.only != nil && !slices.Contains(r.only, pkg) || slices.Contains(r.stays, name) {
		return false
	}
	forms := strings.Fields(r.forms)
	return slices.ContainsFunc(wordsOf(name), func(w string) bool { return slices.Contains(forms, w) })
}

var wordPattern = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)

// wordsOf splits an identifier or a file name into words. Consecutive capitals are one
// word, without the last one if lower case follows: HTTPTail.
func wordsOf(name string) []string {
	var words []string
	for _, w := range wordPattern.FindAllString(name, -1) {
		capitals := len(w) - len(strings.TrimLeft(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
		if capitals > 1 && capitals < len(w) {
			words = append(words, strings.ToLower(w[:capitals-1]))
			w = w[capitals-1:]
		}
		words = append(words, strings.ToLower(w))
	}
	return words
}

// declared returns the names that a file declares. Names of other packages belong to
// those.
func declared(f *ast.File) []*ast.Ident {
	var ids []*ast.Ident
	add := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				ids = append(ids, id)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			ids = append(ids, n.Name)
		case *ast.TypeSpec:
			ids = append(ids, n.Name)
		case *ast.ValueSpec:
			ids = append(ids, n.Names...)
		case *ast.Field:
			ids = append(ids, n.Names...)
		case *ast.LabeledStmt:
			ids = append(ids, n.Label)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return ids
}
