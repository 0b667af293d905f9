package arch

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:generate go test -run ^TestPages$ -update .

var update = flag.Bool("update", false, "write the generated pages of docs anew")

// TestPages checks the pages that are generated from the code.
func TestPages(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for name, want := range map[string][]byte{"docs/MUTATIONS.md": mutationsPage(t, p), "docs/PACKAGES.md": packagesPage(p), "docs/SCRIPTS.md": scriptsPage(t, p)} {
		file := filepath.Join(p.root, filepath.FromSlash(name))
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the code says: run make generate and look at the difference (%v)", name, err)
		}
	}
}

const generatedNote = "Generated from %s by `make generate`; do not edit.\n"

// packagesPage lists the first sentence of each package's comment, and the second one if
// the first is very short.
func packagesPage(p *project) []byte {
	var b bytes.Buffer
	b.WriteString("# Packages\n\n")
	fmt.Fprintf(&b, generatedNote, "the comment of each package")
	b.WriteString("`go doc ./FOLDER` shows the rest: what it is not for, and how things flow through it.\n\n| folder | what it is |\n|---|---|\n")
	for _, f := range p.main() {
		for _, s := range f.files {
			if !s.test && s.ast.Doc != nil && !strings.HasPrefix(s.ast.Doc.Text(), "Code generated") {
				all := strings.Join(strings.Fields(s.ast.Doc.Text()), " ")
				text := new(doc.Package).Synopsis(all)
				if len(strings.Fields(text)) < 6 {
					text += " " + new(doc.Package).Synopsis(strings.TrimPrefix(all, text))
				}
				for _, lead := range []string{"Package " + s.ast.Name.Name + " ", "Command " + path.Base(f.rel) + " "} {
					text = strings.TrimPrefix(text, lead)
				}
				fmt.Fprintf(&b, "| [%s](../%s) | %s |\n", f.rel, f.rel, cell("", text))
				break
			}
		}
	}
	return b.Bytes()
}

// sharedFences says when the writes that several mutations share fail.
var sharedFences = map[string]string{
	"delete-pending/pending": "somebody has written the node of the pending run that is deleted",
	"own/record":             "the sender's own record, which it sets, has another version than in its view",
	"owners-last/joins":      "a member has joined since the reshard whose last part this is",
	"pend/assigned":          "a foreign leader has assigned the items since, so the mark of a dead member may be another's by now",
	"pend/taken":             "a foreign member has taken the item since, so the mark may be another's by now",
	"reshard-parts/joins":    "a member has joined, or asked for a reshard, since the first part was decided",
}

func mutationsPage(t *testing.T, p *project) []byte {
	t.Helper()
	core := p.folder(t, "host/internal/protocol")
	types, functions := comments(core)
	var b bytes.Buffer
	b.WriteString("# Rules and mutations\n\n")
	fmt.Fprintf(&b, generatedNote, "the comments of `host/internal/protocol` and the fences of `host/internal/layout`")
	b.WriteString("What a member does apart from these mutations, and why, is in [PROTOCOL](PROTOCOL.md).\n\n" +
		"## Rules\n\nAfter each input the core asks the rules in this order. The mutation of the first rule that returns one is sent.\n\n| rule of the core | what it does |\n|---|---|\n")
	rules := rulesOf(core)
	for _, r := range rules {
		fmt.Fprintf(&b, "| %s | %s |\n", r[0], cell(r[1], functions[r[1]]))
	}
	b.WriteString("\n## Mutations\n\nEach mutation is one transaction, all or nothing, and ends by setting `wasm`. " +
		"A *fence* refuses it if a node has changed since the view on which it was decided.\n\n" +
		"| mutation | what it does | its fences: what must not have changed |\n|---|---|---|\n")
	fences := fencesOf(p)
	muts := mutationsOf(core)
	for _, m := range muts {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m[0], cell(m[0], types[m[0]]), strings.Join(fences[m[1]], ", "))
		delete(fences, m[1])
	}
	b.WriteString("\nLeave, Reshard and Owners delete owners' nodes under the fences of DeleteOwners. Several mutations share other writes, with the fences of these:\n\n" +
		"| fence | the write fails if |\n|---|---|\n")
	var shared []string
	for _, group := range slices.Sorted(maps.Keys(fences)) {
		for _, f := range fences[group] {
			name := group + "/" + f
			if sharedFences[name] == "" {
				t.Errorf("sharedFences does not say what %s checks", name)
			}
			shared = append(shared, name)
			fmt.Fprintf(&b, "| `%s` | %s |\n", name, sharedFences[name])
		}
	}
	if len(shared) != len(sharedFences) {
		t.Errorf("sharedFences has %d fences, of which %d exist", len(sharedFences), len(shared))
	}
	b.WriteString("\n## Files by theme\n\nWhat the files of the core are about, by the comments at their heads.\n\n| file of the core | theme |\n|---|---|\n")
	heads := headsOf(core)
	for _, h := range heads {
		fmt.Fprintf(&b, "| [%s](../%s/%s) | %s |\n", h[0], core.rel, h[0], cell("", h[1]))
	}
	if len(rules) < 20 || len(muts) < 30 || len(shared) == 0 || len(heads) < 20 {
		t.Errorf("found %d rules, %d mutations, %d shared fences and %d heads of files: the page no longer reads the code", len(rules), len(muts), len(shared), len(heads))
	}
	return b.Bytes()
}

func (p *project) folder(t *testing.T, rel string) folder {
	t.Helper()
	i := slices.IndexFunc(p.folders, func(f folder) bool { return f.rel == rel })
	if i < 0 {
		t.Fatalf("there is no package %s", rel)
	}
	return p.folders[i]
}

// decls returns the declarations of a package without its tests.
func (f folder) decls() []ast.Decl {
	var all []ast.Decl
	for _, s := range f.files {
		if !s.test {
			all = append(all, s.ast.Decls...)
		}
	}
	return all
}

// comments returns the comments of a package's types and functions, by name.
func comments(f folder) (types, functions map[string]string) {
	types, functions = map[string]string{}, map[string]string{}
	for _, d := range f.decls() {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				functions[d.Name.Name] = d.Doc.Text()
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok {
					types[ts.Name.Name] = ts.Doc.Text()
				}
			}
		}
	}
	return types, functions
}

// headsOf returns the files of a package that begin with a comment of their own, and that
// comment: it precedes the first declaration without belonging to it.
func headsOf(f folder) (heads [][2]string) {
	for _, s := range f.files {
		if s.test || len(s.ast.Decls) == 0 {
			continue
		}
		first, from := token.NoPos, s.ast.Name.End()
		for _, d := range s.ast.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				from = d.End()
				continue
			}
			if first = d.Pos(); docOf(d) != nil {
				first = docOf(d).Pos()
			}
			break
		}
		for _, c := range s.ast.Comments {
			if c.Pos() > from && c.End() < first {
				heads = append(heads, [2]string{path.Base(s.rel), c.Text()})
				break
			}
		}
	}
	return heads
}

func docOf(d ast.Decl) *ast.CommentGroup {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

// rulesOf returns the names of rules, and of the functions that implement them.
func rulesOf(f folder) (rules [][2]string) {
	for _, d := range f.decls() {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok || v.Names[0].Name != "rules" || len(v.Values) != 1 {
				continue
			}
			for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
				var rule [2]string
				ast.Inspect(e, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.BasicLit:
						rule[0], _ = strconv.Unquote(n.Value)
					case *ast.Ident:
						rule[1] = n.Name
					}
					return true
				})
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// mutationsOf returns the types of the vocabulary with their names, in order.
func mutationsOf(f folder) (muts [][2]string) {
	for _, d := range f.decls() {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || fn.Name.Name != "Name" || len(fn.Body.List) != 1 {
			continue
		}
		ret, ok := fn.Body.List[0].(*ast.ReturnStmt)
		if !ok {
			continue
		}
		typ, ok := fn.Recv.List[0].Type.(*ast.Ident)
		if text, isText := ret.Results[0].(*ast.BasicLit); ok && isText {
			name, _ := strconv.Unquote(text.Value)
			muts = append(muts, [2]string{typ.Name, name})
		}
	}
	return muts
}

var fenceName = regexp.MustCompile(`^"([a-z-]+)/([a-z-]+)"$`)

// fencesOf returns the names of fences, grouped by their part before the slash. It finds
// them as texts of that form that are passed to a function.
func fencesOf(p *project) map[string][]string {
	fences := map[string][]string{}
	for _, f := range p.folders {
		if !within(f.rel, "host/internal/layout") {
			continue
		}
		for _, d := range f.decls() {
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				if text, ok := call.Args[0].(*ast.BasicLit); ok {
					if m := fenceName.FindStringSubmatch(text.Value); m != nil && !slices.Contains(fences[m[1]], m[2]) {
						fences[m[1]] = append(fences[m[1]], m[2])
					}
				}
				return true
			})
		}
	}
	for _, names := range fences {
		slices.Sort(names)
	}
	return fences
}

// cell formats a comment for one line of a table, without the name that it begins with.
func cell(name, comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	for _, lead := range []string{name + " ", name + ": "} {
		text = strings.TrimPrefix(text, lead)
	}
	return strings.ReplaceAll(text, "|", "\\|")
}

// themes are the sections of the page of scripts: a heading, and the beginnings of its
// scripts' names. Other scripts go into the last section.
var themes = [][2]string{
	{"Membership", "join setup barred leave lost server servers removed"},
	{"Leading", "election abdicate latch"},
	{"Assigning items", "reshard strategy"},
	{"Beginning and ending runs", "begin complete overlap queue record history streak"},
	{"Misfires and pauses", "misfire compensation passed pause"},
	{"Triggers", "trigger"},
	{"Trying again", "retry"},
	{"A session in doubt", "doubt replaced"},
	{"Deaths and take-overs", "reclaim failover take drop pending elsewhere"},
	{"Rows of what did not begin", "gap missed no"},
	{"Catching up", "catch"},
	{"Backfills", "backfill"},
	{"Fires", "fire"},
	{"Clocks and schedules", "clock cron"},
	{"Configuration and definitions", "config define"},
	{"Another module", "switch"},
	{"Operators", "ask unask"},
	{"Answers and views", "answer refused unknown reconcile"},
	{"Large jobs", "parts"},
	{"Marks", "clear mark"},
	{"Damaged nodes", "damaged"},
	{"Beside foreign members", "foreign adopt accounted reclaim_foreign guarantee record_taken"},
	{"Other", ""},
}

func scriptsPage(t *testing.T, p *project) []byte {
	t.Helper()
	const dir = scriptsFolder
	files, err := filepath.Glob(filepath.Join(p.root, filepath.FromSlash(dir), "*.txt"))
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d scripts (%v)", len(files), err)
	}
	byTheme := map[string][]string{}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		byTheme[themeOf(name)] = append(byTheme[themeOf(name)], name)
	}
	var b bytes.Buffer
	b.WriteString("# Scripts\n\n")
	fmt.Fprintf(&b, generatedNote, "the first comment of each script in `"+dir+"`")
	b.WriteString("A script is a list of events of one job. Indented lines below an event show what the members decide.\n")
	for _, theme := range themes {
		if names := byTheme[theme[0]]; len(names) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n", theme[0])
			for _, name := range names {
				fmt.Fprintf(&b, "- [%s](../%s): %s\n", name, path.Join(dir, name+".txt"), summary(p.read(t, path.Join(dir, name+".txt"))))
			}
		}
	}
	return b.Bytes()
}

// themeOf returns the theme with the longest matching beginning of a script's name.
func themeOf(script string) string {
	for begins := script; begins != ""; begins = begins[:max(0, strings.LastIndexByte(begins, '_'))] {
		for _, theme := range themes {
			if slices.Contains(strings.Fields(theme[1]), begins) {
				return theme[0]
			}
		}
	}
	return themes[len(themes)-1][0]
}

// summary returns the first sentence of a script's opening comment.
func summary(script string) string {
	var text strings.Builder
	for line := range strings.Lines(script) {
		rest, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		text.WriteString(rest)
	}
	return new(doc.Package).Synopsis(text.String())
}
