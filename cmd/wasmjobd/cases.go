package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/abi/conformance"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/guest"
)

// caseResult is the JSON of one case.
type caseResult struct {
	Case     string     `json:"case"`
	At       string     `json:"at"`
	Passed   bool       `json:"passed"`
	Problems []string   `json:"problems,omitempty"`
	Verdict  string     `json:"verdict"`
	Result   string     `json:"result,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Log      []logLine  `json:"log"`
	State    stateTexts `json:"state,omitempty"`
	TookMS   float64    `json:"took_ms"`
}

// stateTexts are the values of an item after a case.
type stateTexts map[string]stateValue

const testHelp = `Test runs a module with its author's cases. Each case is one run, with network, state and clock stubbed,
and its expected results. Exit code 10 means that some results differ, 3 that the file or the module
cannot be used.

  [cases.greets]                 # a name
  item = 1                       # of the run: item, total, item_param, param, config, args, attempt, fence,
  total = 3                      #   job, scheduled, failover, misfire, streaming, fetch_count, concurrency;
  config = { table = "t" }       #   kind and event, if the module can be several things
  timeout = "1s"                 # of the run: timeout (10s), grace, memory, fuel

  clock = 2026-01-01T00:00:00Z   # granted are clock, random, secrets, env, dirs ("ro:testdata:/data"),
  state = { n = "41" }           #   state (with the values before the run; {} for none) and http:
  http."GET https://a.org/x" = { status = 200, body = "hello" }

  [cases.greets.want]            # anything may be left out; verdict is ok unless there is a code
  verdict = "ok"                 # ok, skipped, failed, retryable, deadline, fuel
  result = "hello"
  reason = "part of it"
  log = ["info hello"]           # whole lines in this order; other lines may stand between
  state = { n = "42" }           # all values after the run
  requests = ["GET https://a.org/x"]
  metrics = { rows = 3 }
  batches = 1                    # also succeeded, failed

An exchange of http also has headers, fails = true, and want_body and want_headers of the request. A
strategy's case has instances = { "10.0.0.1" = { weight = "2" } }, previous = ["10.0.0.1", ""], total, and
want.owners = ["10.0.0.1", "10.0.0.1"]. docs/CASEKEYS.md lists all keys.`

func testCommand(term *terminal) *cobra.Command {
	var only []string
	c := &cobra.Command{
		Use:     "test MODULE.wasm CASES.toml",
		Short:   "Run a module with its author's cases",
		Long:    testHelp,
		Example: "  wasmjobd test job.wasm cases.toml\n  wasmjobd test job.wasm cases.toml --case greets -o json",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("write a module and a file of cases: %s", c.UseLine())
			}
			wasm, err := readModule(term, args[0])
			if err != nil {
				return err
			}
			cases, err := readCases(term, args[1])
			if err != nil {
				return err
			}
			if cases, err = chosen(cases, only); err != nil {
				return err
			}
			return untilSignal(c.Context(), func(ctx context.Context) error { return testModule(ctx, term, wasm, cases) })
		},
	}
	c.Flags().StringArrayVar(&only, "case", nil, "run only the case with this `name`; may be repeated")
	return c
}

// maxCases bounds a file of cases; the reader has a lower bound of its own.
const maxCases = 4 << 20

func readCases(term *terminal, path string) ([]conformance.Case, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, exitf(exitNotFound, "read the cases: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read from
	text, err := io.ReadAll(io.LimitReader(f, maxCases))
	if err != nil {
		return nil, exitf(exitInvalid, "read the cases: %w", err)
	}
	cases, err := config.ParseCases(path, text)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		for _, p := range problems {
			term.note("%v", p)
		}
		return nil, &exitError{code: exitInvalid}
	}
	return cases, err
}

// chosen returns the cases with the names in only; all cases if there are none.
func chosen(cases []conformance.Case, only []string) ([]conformance.Case, error) {
	if len(only) == 0 {
		return cases, nil
	}
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, exitf(exitNotFound, "there is no case %q%s", name, andAsk(name, names))
		}
	}
	return slices.DeleteFunc(cases, func(c conformance.Case) bool { return !slices.Contains(only, c.Name) }), nil
}

// testModule runs the cases with a module, and prints how their results differ from what is wanted.
func testModule(ctx context.Context, term *terminal, wasm []byte, cases []conformance.Case) (err error) {
	report, err := guest.Inspect(wasm)
	if refusal, ok := errors.AsType[*guest.Refusal](err); ok {
		return exitf(exitInvalid, "the module cannot be run: %w", refusal)
	}
	if err != nil {
		return err
	}
	for i := range cases {
		r := &cases[i].Request
		r.Module = wasm
		if r.Kind == "" {
			r.Kind = report.Kinds[0] // the sandbox refuses a module without kinds
		}
		if !slices.Contains(report.Kinds, r.Kind) {
			// The rule of a case of a file is its place there.
			return exitf(exitInvalid, "%s: case %s is for the kind %s; the module can be: %s",
				cases[i].Rule, cases[i].Name, r.Kind, strings.Join(report.Kinds, ", "))
		}
	}
	j, err := guestOptions(term).Adapter(wasm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	verdicts := conformance.Play(ctx, j, cases)
	if err := ctx.Err(); err != nil {
		return err // ended by a signal, which explains why the rest failed
	}
	failed := 0
	results := []caseResult{}
	for _, v := range verdicts {
		if v.Err != nil {
			failed++
		}
		results = append(results, resultOf(v))
	}
	if term.json() {
		err = term.printJSON(results)
	} else {
		printCases(term, results)
		term.printf("%d passed, %d failed\n", len(results)-failed, failed)
	}
	if err == nil && failed > 0 {
		err = &exitError{code: exitDifferent}
	}
	return err
}

// resultOf returns the JSON of a case that was run.
func resultOf(v conformance.Verdict) caseResult {
	r := caseResult{
		Case: v.Case.Name, At: v.Case.Rule, Passed: v.Err == nil, Verdict: v.Answer.Verdict, Result: string(v.Answer.Result),
		Reason: v.Answer.Reason, Log: []logLine{}, State: stateTexts{}, TookMS: float64(v.Took.Microseconds()) / 1000,
	}
	if v.Err != nil {
		r.Problems = strings.Split(v.Err.Error(), "\n")
	}
	for _, l := range v.Answer.Logs {
		r.Log = append(r.Log, logLine(l))
	}
	for key, value := range v.Answer.Values {
		r.State[key] = stateValue(value)
	}
	return r
}

// printCases prints a line for each case, and for failed cases the differences and the guest's
// log.
func printCases(term *terminal, results []caseResult) {
	for _, r := range results {
		if r.Passed {
			term.printf("pass  %s\n", resultText([]byte(r.Case)))
			continue
		}
		term.printf("FAIL  %s  (%s)\n", resultText([]byte(r.Case)), r.At)
		for _, p := range r.Problems {
			term.printf("      %s\n", resultText([]byte(p)))
		}
		for _, l := range r.Log {
			term.printf("      | %-5s %s\n", l.Level, resultText([]byte(l.Text)))
		}
	}
}
