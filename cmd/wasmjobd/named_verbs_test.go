package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// namedVerb finds commands in the quotes of Markdown, scriptVerb those in a script.
var (
	namedVerb  = regexp.MustCompile("`wasmjobd((?: [a-z][a-z-]*)+)")
	scriptVerb = regexp.MustCompile(`(?m)^ *(?:[A-Z_]+=\S+ )*wasmjobd((?: [a-z][a-z-]*)+)`)
)

// Texts name only commands that exist.
func TestNamedVerbsExist(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, pattern := range []string{"../../docs/*.md", "../../*.md", "../../host/reason/*.go"} { // COMMANDS.md is the help
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(pages), err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			texts[page] = string(text)
		}
	}
	root, found := rootCommand(&terminal{}), 0
	for of, text := range texts {
		all := namedVerb.FindAllStringSubmatch(text, -1)
		for i, part := range strings.Split(text, "\n```") {
			if i%2 == 1 {
				all = append(all, scriptVerb.FindAllStringSubmatch(part, -1)...)
			}
		}
		for _, m := range all {
			found++
			if !isVerb(root, strings.Fields(m[1])) {
				t.Errorf("%s: there is no wasmjobd%s", of, m[1])
			}
		}
	}
	if few := 100; found < few {
		t.Errorf("only %d commands were found", found)
	}
	if isVerb(root, []string{"reload"}) || isVerb(root, []string{"job", "reload"}) {
		t.Error("a command that does not exist was taken for one")
	}
}

// isVerb reports whether words begin with a command. Other words are its arguments.
func isVerb(c *cobra.Command, words []string) bool {
	for _, sub := range c.Commands() {
		if len(words) > 0 && (sub.Name() == words[0] || sub.HasAlias(words[0])) {
			return isVerb(sub, words[1:])
		}
	}
	return c.HasParent() && (!c.HasSubCommands() || len(words) == 0)
}
