package arch

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scriptsFolder contains the scripts of the core. It counts as a package in retiredWords.
const scriptsFolder = "host/internal/protocol/testdata"

// plainInTexts are words that are retired as names but common in sentences.
var plainInTexts = []string{"beside", "apart"}

// TestRetiredWordsInScripts applies the glossary to scripts, rules, fences and mutants.
// Of a script it checks the name, the comments and the commands.
func TestRetiredWordsInScripts(t *testing.T) {
	t.Parallel()
	p := tree(t)
	files, err := filepath.Glob(filepath.Join(p.root, filepath.FromSlash(scriptsFolder), "*.txt"))
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d scripts (%v)", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		for _, why := range retiredInScript(name, p.read(t, path.Join(scriptsFolder, name))) {
			t.Errorf("%s: %s", path.Join(scriptsFolder, name), why)
		}
	}
	for _, name := range ruleNames(t, p) {
		for _, why := range retiredInText(scriptsFolder, name, nil) {
			t.Errorf("%q: %s", name, why)
		}
	}
}

// TestScriptsBeginShort keeps the list of all scripts readable.
func TestScriptsBeginShort(t *testing.T) {
	t.Parallel()
	p := tree(t)
	files, err := filepath.Glob(filepath.Join(p.root, filepath.FromSlash(scriptsFolder), "*.txt"))
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d scripts (%v)", len(files), err)
	}
	for _, file := range files {
		first := summary(p.read(t, path.Join(scriptsFolder, filepath.Base(file))))
		if n := len(strings.Fields(first)); n == 0 || n > 15 {
			t.Errorf("%s begins with a sentence of %d words, not of at most 15: %q", filepath.Base(file), n, first)
		}
	}
}

func TestRetiredWordsInScriptsRefuses(t *testing.T) {
	t.Parallel()
	const script = `# Who hears of orphans stands beside a foreign member.
b: deal a j
    told, but only in an answer
# It was dealt out.
java j
`
	got := retiredInScript("swap_java.txt", script)
	for k, want := range []string{"swap", "java", "who", "hears", "orphans", "deal", "dealt", "java"} {
		if k >= len(got) || !strings.HasPrefix(got[k], want+" ") {
			t.Fatalf("found %q at place %d, want %q", got, k, want)
		}
	}
	if len(got) != 8 {
		t.Errorf("found %q", got)
	}
}

// retiredInScript finds retired words in a script's name, comments and commands.
func retiredInScript(name, script string) []string {
	faults := retiredInText(scriptsFolder, strings.TrimSuffix(name, ".txt"), nil)
	for line := range strings.Lines(script) {
		switch {
		case strings.HasPrefix(line, "#"):
			faults = append(faults, retiredInText(scriptsFolder, line, plainInTexts)...)
		case strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " "):
			faults = append(faults, retiredInText(scriptsFolder, commandOf(line), nil)...)
		}
	}
	return faults
}

// commandOf returns the first word of a line, after the member that it is for.
func commandOf(line string) string {
	words := strings.Fields(line)
	if len(words) > 1 && strings.HasSuffix(words[0], ":") {
		return words[1]
	}
	return words[0]
}

func retiredInText(pkg, text string, stays []string) (faults []string) {
	for _, w := range wordsOf(text) {
		for _, r := range retiredWords {
			if !slices.Contains(stays, w) && r.has(pkg, w) {
				faults = append(faults, w+" is a retired word; write "+r.meaning)
			}
		}
	}
	return faults
}

// mutantName matches the first field of a mutant in a list.
var mutantName = regexp.MustCompile(`(?m)^\s*\{"([a-z][^":]*: [^"]*)", "`)

// ruleNames returns the names of rules, mutations, fences and simulated mutants.
func ruleNames(t *testing.T, p *project) (names []string) {
	t.Helper()
	f := p.folder(t, "host/internal/protocol")
	for _, rule := range rulesOf(f) {
		names = append(names, rule[0])
	}
	for _, m := range mutationsOf(f) {
		names = append(names, m[1])
	}
	for group, fences := range fencesOf(p) {
		for _, fence := range fences {
			names = append(names, group+"/"+fence)
		}
	}
	lists, err := filepath.Glob(filepath.Join(p.root, "host", "internal", "sim", "mutants_*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		for _, m := range mutantName.FindAllStringSubmatch(p.read(t, "host/internal/sim/"+filepath.Base(list)), -1) {
			names = append(names, m[1])
		}
	}
	if len(names) < 250 {
		t.Errorf("found %d names of rules, fences and mutants: the test no longer reads the code", len(names))
	}
	slices.Sort(names)
	return names
}
