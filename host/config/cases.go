package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/abi/conformance"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// caseKeys returns every key of a file of cases. docs/CASEKEYS.md is generated from it.
func caseKeys() []key {
	keys := []key{
		{path: "kind", takes: word, words: []string{"simple", "dataflow", "script", "strategy"}, about: "kind of the job", unset: "the kind that the other keys imply, or the first that the module can be"},
		{path: "event", takes: word, words: []string{string(job.FireStarted), string(job.FireCompleted)}, about: "calls this listener, not the job's entry", unset: "none"},
		{path: "job", takes: text, about: "name of the job", unset: "`job`"},
		{path: "param", takes: text, about: "parameter of the job", unset: "empty"},
		{path: "item", takes: number, max: job.MaxShards - 1, about: "sharding item", unset: "0"},
		{path: "total", takes: number, min: 1, max: job.MaxShards, about: "sharding total count", unset: "1"},
		{path: "item_param", takes: text, about: "parameter of the item, without a comma, an equals sign, or a blank at either end", unset: "the item has none"},
		{path: "attempt", takes: number, min: 1, max: 1_000_000, about: "number of the attempt, from 1", unset: "1"},
		{path: "fence", takes: number, max: 1 << 62, about: "fencing token", unset: "1"},
		{path: "scheduled", takes: moment, about: "instant of the run", unset: "2026-01-01T00:00:00Z"},
		{path: "failover", takes: flag, about: "the item was taken from a dead member", unset: "false"},
		{path: "misfire", takes: flag, about: "the run replaces missed instants", unset: "false"},
		{path: "config", takes: texts, about: "settings", unset: "none"},
		{path: "args", takes: list, about: "arguments of a script", unset: "none"},
		{path: "streaming", takes: flag, about: "a dataflow job fetches batches until one is empty", unset: "false"},
		{path: "fetch_count", takes: number, min: 1, max: job.MaxBatch, about: "elements that the host wants per batch", unset: "any"},
		{path: "concurrency", takes: number, min: 1, max: job.MaxConcurrency, about: "parts of a batch processed at once", unset: "1"},

		{path: "timeout", takes: duration, about: "deadline of the run", unset: "`10s`"},
		{path: "grace", takes: duration, about: "how long the guest may go on after the deadline", unset: "`2s`"},
		{path: "memory", takes: size, min: 64 << 10, max: 4 << 30, about: "memory limit", unset: "`64MiB`"},
		{path: "fuel", takes: number, min: 1, max: 1_000_000_000_000_000_000, about: "fuel limit", unset: "none"},

		{path: "clock", takes: moment, about: "a clock that always shows this moment", unset: "not granted"},
		{path: "random", takes: flag, about: "real random bytes", unset: "not granted"},
		{path: "state", takes: texts, about: "state, with these values before the run; `{}` for none", unset: "not granted"},
		{path: "secrets", takes: texts, about: "these secrets; a request with another secret in a header is denied", unset: "not granted"},
		{path: "env", takes: texts, about: "these variables of the environment", unset: "none"},
		{path: "dirs", takes: list, about: "directories, as `\"ro:testdata:/data\"` or `\"rw:…\"`; relative to the file", unset: "none"},
		{path: "http.*.want_headers", takes: texts, about: "headers that the request must have", unset: "any"},
		{path: "http.*.want_body", takes: text, about: "body that it must have", unset: "any"},
		{path: "http.*.status", takes: number, min: 100, max: 999, about: "status of the answer", unset: "200"},
		{path: "http.*.headers", takes: texts, about: "headers of the answer", unset: "none"},
		{path: "http.*.body", takes: text, about: "body of the answer", unset: "empty"},
		{path: "http.*.fails", takes: flag, about: "the network fails instead", unset: "false"},
		{path: "instances.*", takes: texts, about: "the instances of a strategy, with their labels; `@-@1` may be left off the id", unset: "none"},
		{path: "previous", takes: list, about: "the owner of each item before the strategy is called; an unknown id means no owner", unset: "nobody"},

		{path: "want.verdict", takes: word, words: []string{"ok", "skipped", "failed", "retryable", "deadline", "fuel"}, about: "how the run ends", unset: "`ok` if there is no `code`"},
		{path: "want.code", takes: number, min: -1 << 31, max: 1<<31 - 1, about: "what the entry returned, or the exit code of a script", unset: "any"},
		{path: "want.result", takes: text, about: "the result", unset: "any"},
		{path: "want.reason", takes: text, about: "a part of the reason", unset: "any"},
		{path: "want.log", takes: list, about: "whole lines, each `level text`, in this order, possibly with others between them", unset: "any"},
		{path: "want.state", takes: texts, about: "all values after the run", unset: "any"},
		{path: "want.metrics", takes: sums, about: "all sums", unset: "any"},
		{path: "want.requests", takes: list, about: "all requests sent, each `METHOD URL`, in this order", unset: "any"},
		{path: "want.batches", takes: number, max: 1 << 62, about: "number of processed batches of a dataflow job", unset: "any"},
		{path: "want.succeeded", takes: number, max: 1 << 62, about: "elements that succeeded", unset: "any"},
		{path: "want.failed", takes: number, max: 1 << 62, about: "elements that failed", unset: "any"},
		{path: "want.owners", takes: list, about: "the owner that the strategy assigns to each item", unset: "any"},
	}
	for i := range keys {
		keys[i].path, keys[i].plain = "cases.*."+keys[i].path, true
	}
	return keys
}

// ParseCases parses the cases for a module, in the order of the text. Messages contain name,
// and relative directories start at its folder. A case's Rule is its place in the text; its
// Request has no module, and no kind if the case does not set one. If anything is wrong, the
// error is a Problems with all faults.
func ParseCases(name string, content []byte) ([]conformance.Case, error) {
	r := newReaderOf(caseKeys(), Options{})
	dir := ""
	if name != stdin {
		dir = filepath.Dir(name)
	}
	r.add(source{name: name, dir: dir, text: string(content)})
	b := &builder{reader: r}
	tables, leaves := sortedNames(r.named), sortedNames(r.values)
	paths := inside(tables, "cases.")
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.named[a].line, r.named[b].line), cmp.Compare(r.named[a].col, r.named[b].col))
	})
	var cases []conformance.Case
	for _, path := range paths {
		c := caseBuilder{builder: b, tables: tables, leaves: leaves, table: path}
		cases = append(cases, c.build())
	}
	if len(cases) == 0 && len(r.problems) == 0 {
		r.report(place{file: name}.problem("cases", reason.Of(reason.CasesMissing)))
	}
	if len(r.problems) > 0 {
		return nil, r.problems.sorted(r.order)
	}
	return cases, nil
}

// inside returns those of the sorted paths that are one name below a table. table is the path of
// the table, with a dot at its end.
func inside(paths []string, table string) []string {
	var names []string
	from, _ := slices.BinarySearch(paths, table)
	for _, path := range paths[from:] {
		name, ok := strings.CutPrefix(path, table)
		if !ok {
			break
		}
		if quoteKey(unquoteKey(name)) == name { // a single name, not several with dots between them
			names = append(names, path)
		}
	}
	return names
}

// Defaults of a case.
const (
	caseTimeout  = 10 * time.Second // ends endless loops
	caseInstance = "127.0.0.1" + job.Delimiter + "test"
)

// caseScheduled is the instant of a run unless the case has one.
func caseScheduled() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
