package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wasmjob/wasmjob/abi/conformance"
	"github.com/wasmjob/wasmjob/host/job"
)

func TestParseCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/cases.toml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseCases("testdata/cases.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	north, at, result := "north", int64(1767323045000), "2 more"
	rows := conformance.Exchange{Method: "GET", URL: "https://example.org/rows?table=orders", Status: 200}
	answered, broken := rows, rows
	answered.Headers, answered.Answer, answered.Content = map[string]string{"Authorization": "Bearer s3cret"}, map[string]string{"Content-Type": "text/plain"}, "42"
	broken.Fails = true
	orders := conformance.Job{Name: "job", Namespace: "test", Config: map[string]string{"table": "orders"}}
	run := conformance.Run{
		Total: 1, Items: []int{0}, Params: map[int]string{}, TaskID: "job@-@0@-@READY@-@127.0.0.1@-@test", RunID: "job/0/1767225600000",
		Instance: "127.0.0.1@-@test", Attempt: 1, Fence: 1, Scheduled: 1767225600000,
	}
	first, third := run, run
	first.Item, first.Total, first.Items, first.ItemParam, first.Params = 1, 3, []int{1}, &north, map[int]string{1: "north"}
	first.TaskID, first.RunID = "job@-@1@-@READY@-@127.0.0.1@-@test", "job/1/1767225600000"
	third.Total = 3
	limits := conformance.Limits{Timeout: 10_000}
	want := []conformance.Case{
		{
			Name: "remembers", Rule: "testdata/cases.toml:2:8",
			Request: conformance.Request{Job: orders, Run: first, Limits: limits, Allow: conformance.Allow{
				Clock: &at, State: true, Values: map[string]string{"rows": "40"}, Secrets: map[string]string{"token": "s3cret"},
				HTTP: []conformance.Exchange{answered},
			}},
			Want: conformance.Want{
				Verdict: []string{"ok"}, Result: &result, Lines: []string{"info north: 42 rows"}, Values: map[string]string{"rows": "42"},
				Metrics: map[string]float64{"rows": 2}, Requests: []string{"GET https://example.org/rows?table=orders"},
			},
		},
		{
			Name: "tries-again-later", Rule: "testdata/cases.toml:23:8",
			Request: conformance.Request{Job: orders, Run: run, Limits: limits, Allow: conformance.Allow{
				State: true, Values: map[string]string{}, Secrets: map[string]string{"token": "s3cret"}, HTTP: []conformance.Exchange{broken},
			}},
			Want: conformance.Want{Verdict: []string{"retryable"}, Reason: []string{"network"}, Values: map[string]string{}},
		},
		{
			Name: "keeps", Rule: "testdata/cases.toml:31:8",
			Request: conformance.Request{
				Kind: "strategy", Job: conformance.Job{Name: "job", Namespace: "test"}, Run: third, Limits: limits,
				Deal: conformance.Deal{
					Instances: []conformance.Instance{{ID: "10.0.0.2@-@1", Labels: map[string]string{"zone": "a"}}, {ID: "10.0.0.1@-@1", Labels: map[string]string{}}},
					Previous:  []int{1, -1, -1},
				},
			},
			Want: conformance.Want{Verdict: []string{"ok"}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(conformance.Want{}, "Check")); diff != "" {
		t.Error(diff)
	}
	if err := got[2].Want.Check(conformance.Answer{Owners: []int{1, 1, 0}}); err == nil || err.Error() != "item 1 went to 10.0.0.1@-@1, wanted 10.0.0.2@-@1" {
		t.Errorf("owners: %v", err)
	}
	if err := got[2].Want.Check(conformance.Answer{Owners: []int{1, 0, 0}}); err != nil {
		t.Errorf("owners: %v", err)
	}
}

// Every fault is reported at its place, all in one pass.
func TestFaultsOfCases(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string // lines of the problems, without the name of the file
	}{
		"nothing":    {"", []string{": cases: there are no cases (write [cases.<name>])"}},
		"no table":   {"cases = 1", []string{`:1:1: cases: must be a table, not a number (write [cases.<name>])`}},
		"no toml":    {"[cases.a", []string{`:1:8: expected '.' or ']' to end table name, but got `}},
		"another":    {"[case.a]\n", []string{`:1:2: case: unknown key (did you mean "cases"?)`}},
		"variables":  {"[cases.a]\nparam = '${x} $'", nil},
		"secrets":    {"[cases.a]\nparam = 'secret://x'", nil},
		"unknown":    {"[cases.a]\nparams = 'x'", []string{`:2:1: cases.a.params: unknown key (did you mean "param"?)`}},
		"in want":    {"[cases.a.want]\nresults = 'x'", []string{`:2:1: cases.a.want.results: unknown key (did you mean "result"?)`}},
		"type":       {"[cases.a]\nitem = 'x'\nconfig = 1", []string{`:2:8: cases.a.item: must be a whole number, not a string`, `:3:10: cases.a.config: must be a table of strings, not a number`}},
		"item":       {"[cases.a]\nitem = 3\ntotal = 3", []string{`:2:8: cases.a.item: item 3 of 3: items are numbered from 0 (write total = 4 or more)`}},
		"total":      {"[cases.a]\nitem = 1", []string{`:2:8: cases.a.item: item 1 of 1`}},
		"verdict":    {"[cases.a]\nwant.verdict = 'okay'", []string{`:2:16: cases.a.want.verdict: "okay" is not known here (write "ok", `}},
		"clock":      {"[cases.a]\nclock = 2026-01-01T00:00:00\nscheduled = 'now'", []string{`:2:9: cases.a.clock: must be a date with a time and a zone`, `:3:13: cases.a.scheduled: must be a date`}},
		"metrics":    {"[cases.a.want]\nmetrics = { a = 1, b = 'x', c = 0.5 }", []string{`:2:24: cases.a.want.metrics.b: must be a number, not a string`}},
		"no metrics": {"[cases.a.want]\nmetrics = 1", []string{`:2:11: cases.a.want.metrics: must be a table of numbers`}},
		"log":        {"[cases.a.want]\nlog = ['info x', 'hello']", []string{`:2:18: cases.a.want.log[1]: "hello" does not begin with a level (write "info text")`}},
		"dirs":       {"[cases.a]\ndirs = ['ro:x:/y', 'x', 'ro:x:y']", []string{`:2:20: cases.a.dirs[1]: "x" is not a grant`, `:2:25: cases.a.dirs[2]: "ro:x:y" is not a grant`}},
		"request":    {"[cases.a]\nhttp.'https://a.org' = {}\nhttp.'GET /x' = {}\nhttp.'get https://a.org' = {}", []string{`:2:6: `, `:3:6: `, `:4:6: `}},
		"http":       {"[cases.a]\nhttp.'GET https://a.org' = { stats = 1, status = 99 }", []string{`:2:30: cases.a.http."GET https://a.org".stats: unknown key`, `:2:50: `}},
		"instances":  {"[cases.a]\ninstances = { a = {}, '/' = {}, b = 1 }", []string{`:2:29: cases.a.instances."/": instance id`, `:2:37: cases.a.instances.b: must be a table of strings`}},
		"same":       {"[cases.a]\ninstances = { a = {}, 'a@-@1' = {} }", []string{`:1:8: cases.a.instances: an instance is listed twice`}},
		"owners":     {"[cases.a]\ninstances = { a = {} }\nwant.owners = ['b', 'a']\nprevious = ['a', 'a']", []string{`:3:15: cases.a.want.owners: 2 owners of 1 items`, `:3:16: cases.a.want.owners[0]: "b" is none of`, `:4:12: cases.a.previous: 2 owners of 1 items`}},
		"many":       {"[cases.a]\ntotal = 2\ninstances = { a = {} }\nwant.owners = ['a']", []string{`:4:15: cases.a.want.owners: 1 owners of 2 items`}},
		"job":        {"[cases.a]\njob = 'a@-@b'", []string{`:2:7: cases.a.job: `}},
		"long":       {"[cases.a]\nitem_param = '" + strings.Repeat("x", job.MaxText) + "'", []string{`:2:14: cases.a.item_param: has 262146 bytes (use at most 262144)`}},
		"long text":  {"[cases.a]\nparam = '" + strings.Repeat("x", job.MaxText+1) + "'", []string{`:2:9: cases.a.param: has 262145 bytes (use at most 262144)`}},
		"twice":      {"[cases.a]\n[cases.a]", []string{`:2:2: cases: Key 'cases.a' has already been defined.`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseCases("c.toml", []byte(tt.text))
			var got []string
			if problems, ok := errors.AsType[Problems](err); ok {
				for _, p := range problems {
					got = append(got, strings.TrimPrefix(p.String(), "c.toml"))
				}
			}
			if len(got) != len(tt.want) {
				t.Fatalf("problems\n%s", strings.Join(got, "\n"))
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("%s\nwanted %s", got[i], want)
				}
			}
		})
	}
}

// The keys of a case decide its kind, and code without verdict leaves the kind open.
func TestCasesMean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "kind = 'script'": "script", "streaming = true": "dataflow", "want.failed = 0": "dataflow", "args = []": "script",
		"instances.a = {}": "strategy", "kind = 'simple'\nargs = ['x']": "simple",
	} {
		cases, err := ParseCases("c.toml", []byte("[cases.a]\nwant.code = 1\n"+text))
		if err != nil || cases[0].Request.Kind != want || cases[0].Want.Verdict != nil {
			t.Errorf("%q: %+v, %v", text, cases, err)
		}
	}
	cases, err := ParseCases("c.toml", []byte("[cases.a]\nwant = { batches = 1, failed = 2 }\ntimeout = '1ms'\ndirs = ['rw:x:/y']"))
	if err != nil {
		t.Fatal(err)
	}
	err = cases[0].Want.Check(conformance.Answer{Flow: conformance.Flow{Batches: 2, Failed: 1}})
	if err == nil || err.Error() != "batches: 2, wanted 1\nfailed: 1, wanted 2" {
		t.Errorf("flow: %v", err)
	}
	if d := cases[0].Request.Allow.Dirs; len(d) != 1 || !filepath.IsAbs(d[0].Host) || !d[0].Write || cases[0].Request.Limits.Timeout != 1 {
		t.Errorf("%+v", cases[0].Request)
	}
}

// A file of the largest size with nothing but cases is read quickly.
func TestManyCases(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := 0; b.Len() < maxFileBytes-50; i++ {
		fmt.Fprintf(&b, "[cases.a%d]\nhttp.'GET http://a' = {}\n", i)
	}
	cases, err := ParseCases("c.toml", []byte(b.String()))
	if err != nil || len(cases) < 20_000 {
		t.Errorf("%d cases, %v", len(cases), err)
	}
}

func FuzzParseCases(f *testing.F) {
	sample, err := os.ReadFile("testdata/cases.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Add([]byte("[cases.a]\ninstances = { '' = {}, a = {} }\nprevious = ['']\nwant.owners = ['']"))
	f.Add([]byte("[cases.'']\nhttp.'A http://%' = {}\ntotal = 100000"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cases, err := ParseCases("c.toml", text)
		if (err == nil) != (len(cases) > 0) {
			t.Fatalf("%d cases and %v", len(cases), err)
		}
		for _, c := range cases {
			_ = c.Want.Check(conformance.Answer{Owners: make([]int, len(c.Request.Deal.Previous))})
		}
	})
}
