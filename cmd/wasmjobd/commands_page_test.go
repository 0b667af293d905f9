package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:generate go test -run ^TestCommandsPage$ -update .

var update = flag.Bool("update", false, "write the page of commands anew")

// TestCommandsPage: docs/COMMANDS.md matches the help of the commands.
func TestCommandsPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/COMMANDS.md"
	want := append(commandsPage(), exitCodeTable(t)...)
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/COMMANDS.md is not what the commands say: run make generate (%v)", err)
	}
}

func commandsPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Commands\n\nGenerated from the help of the commands by `make generate`; do not edit. [OPERATIONS](OPERATIONS.md) says what\n" +
		"to use when. Every verb has `--help`; `-o json` prints data for programs.\n\n| command | what it does |\n|---|---|\n")
	root := rootCommand(&terminal{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	all := verbsOf(root)
	for _, c := range all {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", nameOf(c), strings.ReplaceAll(nameOf(c), " ", "-"), c.Short)
	}
	common := commonFlags(all)
	b.WriteString("\n## Common flags\n\nA command takes all of these, unless it says otherwise.\n\n| common flag | meaning |\n|---|---|\n" + strings.Join(common, ""))
	for _, c := range all {
		writeVerb(&b, c, common)
	}
	return b.Bytes()
}

// commonFlags returns the rows of flags that many commands have with the same meaning.
func commonFlags(all []*cobra.Command) (common []string) {
	const many = 10
	count := map[string]int{}
	for _, c := range all {
		for _, row := range flagRows(c) {
			if count[row]++; count[row] == many {
				common = append(common, row)
			}
		}
	}
	slices.Sort(common)
	return common
}

// exitCodeTable returns the table of the exit codes, from their comments.
func exitCodeTable(t *testing.T) []byte {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "exit.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("\n## Exit codes\n\n| exit code | means |\n|---|---|\n")
	rows := 0
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || v.Comment == nil {
			return true
		}
		code, ok := v.Values[0].(*ast.BasicLit)
		if ok {
			fmt.Fprintf(&b, "| %s | %s |\n", code.Value, strings.TrimSpace(v.Comment.Text()))
			rows++
		}
		return false
	})
	if rows == 0 {
		t.Fatal("exit.go has no constants with comments")
	}
	return b.Bytes()
}

// verbsOf returns the commands that do something, or whose help says more than their list of
// verbs.
func verbsOf(c *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.Hidden || sub.Name() == "completion" || sub.Name() == "help" {
			continue
		}
		if sub.Long != "" || !sub.HasSubCommands() {
			all = append(all, sub)
		}
		all = append(all, verbsOf(sub)...)
	}
	return all
}

func nameOf(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "wasmjobd ") }

func writeVerb(b *bytes.Buffer, c *cobra.Command, common []string) {
	fmt.Fprintf(b, "\n## %s\n\n", nameOf(c))
	if !c.HasSubCommands() {
		fmt.Fprintf(b, "    %s\n\n", strings.TrimSuffix(c.UseLine(), " [flags]"))
	}
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(b, "```\n%s\n```\n", strings.TrimSpace(text))
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimSpace(c.Example), "\n  ", "\n"))
	}
	var also []string
	head := "\n| flag of `" + nameOf(c) + "` | meaning |\n|---|---|\n"
	for _, row := range flagRows(c) {
		if slices.Contains(common, row) {
			also = append(also, flagName.FindString(row))
			continue
		}
		b.WriteString(head + row)
		head = ""
	}
	switch {
	case c.HasSubCommands() || len(also) == len(common):
	case len(also) == 0:
		b.WriteString("\nIt takes no [common flags](#common-flags).\n")
	default:
		fmt.Fprintf(b, "\nOf the [common flags](#common-flags) it takes only `%s`.\n", strings.Join(also, "`, `"))
	}
}

// flagName finds the name of a flag in its row.
var flagName = regexp.MustCompile(`--[a-z-]+`)

// flagRows returns the rows of a command's flags for a table.
func flagRows(c *cobra.Command) (rows []string) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			rows = append(rows, fmt.Sprintf("| %s | %s |\n", flagOf(f), strings.ReplaceAll(usageOf(f), "|", "\\|")))
		}
	})
	return rows
}

func flagOf(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	return "`" + strings.TrimSpace(name+" "+strings.ReplaceAll(value, "|", ", ")) + "`"
}

func usageOf(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "false", "[]", "0", "0s":
		return text
	}
	return text + " (default `" + f.DefValue + "`)"
}
