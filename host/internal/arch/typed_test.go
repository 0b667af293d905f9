package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	commandSpan = regexp.MustCompile("`(?:build/)?wasmjobd ([a-z][^`]*)`")
	codeSpan    = regexp.MustCompile("`([^`]+)`")
	// A variable or a placeholder in angle brackets, which a block to be typed or copied
	// must not contain.
	leftover = regexp.MustCompile(`\$\{?([A-Z][A-Z0-9_]*)|<([a-z][a-z -]*)>`)
)

// groups are the commands that have subcommands.
var groups = []string{"alert", "audit", "history", "job", "module", "run", "server", "shard", "token"}

// TestDocumentsCommands checks that a test file of cmd runs each command that a document
// names, with all the flags that the document gives it.
func TestDocumentsCommands(t *testing.T) {
	t.Parallel()
	p := tree(t)
	tests := commandTests(t, p)
	for _, doc := range documents {
		for _, m := range commandSpan.FindAllStringSubmatch(p.read(t, doc), -1) {
			if !isTyped(tests, m[1]) {
				t.Errorf("%s: no test of cmd runs wasmjobd %s", doc, m[1])
			}
		}
	}
	for command, want := range map[string]bool{
		"job list": true, "job list JOB": true, "job disable JOB... --item N": true, "job burn": false, "job list --item 3": false,
	} {
		if isTyped([]string{"wasmjobd job list\n", `verb(t, dir, exitOK, "job", "disable", "--item", "1")`}, command) != want {
			t.Errorf("that %q is run is not %v", command, want)
		}
	}
}

// isTyped reports whether a test runs the command with its flags.
func isTyped(tests []string, command string) bool {
	words := strings.Fields(command)
	verbs, rest := words[:1], words[1:]
	if slices.Contains(groups, words[0]) && len(rest) > 0 {
		verbs, rest = words[:2], rest[1:]
	}
	var flags []string
	for _, w := range rest {
		if flag, _, _ := strings.Cut(strings.Trim(w, "[]"), "="); strings.HasPrefix(flag, "--") {
			flags = append(flags, flag)
		}
	}
	script := regexp.MustCompile("wasmjobd " + strings.Join(verbs, " ") + `\s`)
	return slices.ContainsFunc(tests, func(text string) bool {
		typed := script.MatchString(text) || strings.Contains(text, `"`+strings.Join(verbs, `", "`)+`"`)
		return typed && !slices.ContainsFunc(flags, func(f string) bool { return !strings.Contains(text, f) })
	})
}

// commandTests returns the scripts and tests of cmd.
func commandTests(t *testing.T, p *project) []string {
	t.Helper()
	var tests []string
	for _, pattern := range []string{"cmd/wasmjobd/*_test.go", "cmd/wasmjobd/testdata/*/*.txtar"} {
		files, err := filepath.Glob(filepath.Join(p.root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tests = append(tests, string(text))
		}
	}
	return tests
}

// TestTroubleIsNamedAsItIsSaid checks that OPERATIONS contains the exact words of a
// server's or a verb's message, so that a search finds them; … stands for variable parts.
func TestTroubleIsNamedAsItIsSaid(t *testing.T) {
	t.Parallel()
	p := tree(t)
	var said strings.Builder
	for _, folder := range p.folders {
		for _, f := range folder.files {
			if !f.test {
				said.WriteString(p.read(t, f.rel))
			}
		}
	}
	_, table, _ := strings.Cut(p.read(t, "docs/OPERATIONS.md"), "\n| message |")
	quoted := troublesOf(table)
	for _, text := range quoted {
		if !isSaid(said.String(), text) {
			t.Errorf("docs/OPERATIONS.md: nothing says %q", text)
		}
	}
	if len(quoted) < 10 || isSaid("a run was lost", "a run … found") || !isSaid("a run was lost", "… run … lost") {
		t.Errorf("%d texts were found, or one that is not there", len(quoted))
	}
}

// troublesOf returns the texts in the first column of a table.
func troublesOf(table string) []string {
	var all []string
	for line := range strings.SplitSeq(table, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			for _, m := range codeSpan.FindAllStringSubmatch(cells[1], -1) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

func isSaid(source, text string) bool {
	for part := range strings.SplitSeq(text, "…") {
		if part = strings.TrimSpace(part); !strings.Contains(source, part) {
			return false
		}
	}
	return true
}

// TestNothingIsLeftToFillIn checks that a block to be typed or copied uses only variables
// that it sets itself, and no placeholders.
func TestNothingIsLeftToFillIn(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, doc := range documents {
		for _, m := range fence.FindAllStringSubmatch(p.read(t, doc), -1) {
			if m[2] == "sh" || m[2] == "toml" || m[2] == "" {
				for _, l := range leftovers(m[3]) {
					t.Errorf("%s: a block says %s, and no line before gives it a value", doc, l)
				}
			}
		}
	}
	for block, want := range map[string][]string{
		"run $HOME/x\n":        {"$HOME"},
		"A=1\nrun $A ${B}\n":   {"${B"},
		"run --to <digest>\n":  {"<digest>"},
		"SERVER=1 run a > b\n": nil,
		"a <- b\n":             nil,
	} {
		if got := leftovers(block); !slices.Equal(got, want) {
			t.Errorf("%q: left over is %q, not %q", block, got, want)
		}
	}
}

func leftovers(block string) []string {
	var found []string
	for _, at := range leftover.FindAllStringSubmatchIndex(block, -1) {
		if at[2] >= 0 && strings.Contains(block[:at[0]], block[at[2]:at[3]]+"=") {
			continue
		}
		found = append(found, block[at[0]:at[1]])
	}
	return found
}
