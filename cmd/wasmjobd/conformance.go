package main

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/abi/conformance"
	"github.com/wasmjob/wasmjob/host/guest"
)

// verdictLine is one cell of the table, as JSON.
type verdictLine struct {
	Subject string  `json:"subject"`
	Case    string  `json:"case"`
	Rule    string  `json:"rule"`
	Passed  bool    `json:"passed"`
	Problem string  `json:"problem,omitempty"`
	TookMS  float64 `json:"took_ms"`
}

func conformanceCommand(term *terminal) *cobra.Command {
	var other, only []string
	var serve bool
	c := &cobra.Command{
		Use:   "conformance [GUEST.wasm...]",
		Short: "Check the guests of SDKs, or a host, against the contract",
		Long: "Conformance runs the cases of the kit in abi/conformance. With guests it checks the SDKs that\n" +
			"built them: NAME.wasm and NAME-script.wasm, as described in GUEST.md. Without guests it checks a\n" +
			"host: this program or, with --host, another program that reads requests and writes answers as\n" +
			"lines of JSON. With --serve this program is such a host. Exit code 10 means that something failed.",
		Example: "  wasmjobd conformance\n  wasmjobd conformance --case 'trap: *'\n  wasmjobd conformance build/conformance/rust.wasm\n" +
			"  wasmjobd conformance --host ./my-host --host --some-flag -o json",
		RunE: func(c *cobra.Command, args []string) error {
			for _, pattern := range only {
				if _, err := path.Match(pattern, ""); err != nil {
					return usage("--case %q: %w", pattern, err)
				}
			}
			if serve && (len(other) > 0 || len(args) > 0 || len(only) > 0) {
				return usage("--serve reads requests from standard input: leave out guests and other flags")
			}
			if serve {
				return withHost(c.Context(), nil, func(h conformance.Host) error {
					return conformance.Serve(c.Context(), h, term.in, term.out)
				})
			}
			return untilSignal(c.Context(), func(ctx context.Context) error {
				return withHost(ctx, other, func(h conformance.Host) error { return checkAll(ctx, term, h, args, only) })
			})
		},
	}
	c.Flags().StringArrayVar(&other, "host", nil, "the `program` to check; repeat for each of its arguments")
	c.Flags().StringArrayVar(&only, "case", nil, "run only cases with this `name`, which may be a pattern such as \"trap: *\"; may be repeated")
	c.Flags().BoolVar(&serve, "serve", false, "serve as the host for another checker")
	return c
}

// withHost calls use with another program as the host, or with this program's sandbox.
func withHost(ctx context.Context, other []string, use func(conformance.Host) error) error {
	if len(other) > 0 {
		p, err := conformance.Command(ctx, other[0], other[1:]...)
		if err != nil {
			return exitf(exitNotFound, "%w", err)
		}
		return errors.Join(use(p), p.Close())
	}
	j, err := guest.NewAdapter()
	if err != nil {
		return err
	}
	return errors.Join(use(j), j.Close())
}

// checkAll runs the cases and prints the verdicts: the cases of a host on checked or, if there are guests,
// the cases of each guest, with checked as the host that runs them. only are the patterns of --case.
func checkAll(ctx context.Context, term *terminal, checked conformance.Host, guests, only []string) error {
	var columns []conformance.Column
	if len(guests) == 0 {
		dir, err := os.MkdirTemp("", "wasmjobd-conformance-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // it lies in the system's temporary folder
		cases, err := conformance.HostCases(dir)
		if err == nil {
			cases, err = matching(cases, only)
		}
		if err != nil {
			return err
		}
		columns = append(columns, conformance.Column{Name: "host", Verdicts: conformance.Play(ctx, checked, cases)})
	}
	for _, file := range guests {
		g := conformance.Guest{Name: strings.TrimSuffix(filepath.Base(file), ".wasm")}
		var err error
		if g.Module, err = readModule(term, file); err != nil {
			return err
		}
		if g.Script, err = readModule(term, strings.TrimSuffix(file, ".wasm")+"-script.wasm"); err != nil {
			return err
		}
		cases, err := matching(conformance.GuestCases(g), only)
		if err != nil {
			return err
		}
		columns = append(columns, conformance.Column{Name: g.Name, Verdicts: conformance.Play(ctx, checked, cases)})
	}
	if err := ctx.Err(); err != nil {
		return err // ended by a signal, which explains why the rest failed
	}
	if term.json() {
		return printVerdicts(term, columns)
	}
	passed, failed, err := conformance.Print(term.out, columns)
	if err != nil {
		return err
	}
	term.printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return &exitError{code: exitDifferent}
	}
	return nil
}

// matching returns the cases whose name matches one of the patterns; all cases if there are no
// patterns.
func matching(cases []conformance.Case, patterns []string) ([]conformance.Case, error) {
	if len(patterns) == 0 {
		return cases, nil
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(cases, func(c conformance.Case) bool { return isNamed(pattern, c.Name) }) {
			return nil, exitf(exitNotFound, "there is no case %q; -o json lists the names of all", pattern)
		}
	}
	return slices.DeleteFunc(cases, func(c conformance.Case) bool {
		return !slices.ContainsFunc(patterns, func(pattern string) bool { return isNamed(pattern, c.Name) })
	}), nil
}

// isNamed reports whether a case has a name, or one that matches the pattern. A name may contain
// characters that are special in patterns.
func isNamed(pattern, name string) bool {
	ok, _ := path.Match(pattern, name) // the pattern is valid
	return ok || pattern == name
}

// printVerdicts prints the verdicts as JSON. The error of failed cases has only an exit code.
func printVerdicts(term *terminal, columns []conformance.Column) error {
	lines := []verdictLine{}
	code := exitOK
	for _, col := range columns {
		for _, v := range col.Verdicts {
			l := verdictLine{
				Subject: col.Name, Case: v.Case.Name, Rule: v.Case.Rule, Passed: v.Err == nil,
				TookMS: float64(v.Took.Microseconds()) / 1000,
			}
			if v.Err != nil {
				l.Problem = v.Err.Error()
				code = exitDifferent
			}
			lines = append(lines, l)
		}
	}
	if err := term.printJSON(lines); err != nil || code == exitOK {
		return err
	}
	return &exitError{code: code}
}
