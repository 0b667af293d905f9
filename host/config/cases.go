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

// caseKeys returns every key of a file of cases; docs/CASES.md describes them.
func caseKeys() []key {
	keys := []key{
		{path: "kind", takes: word, words: []string{"simple", "dataflow", "script", "strategy"}},
		{path: "event", takes: word, words: []string{string(job.FireStarted), string(job.FireCompleted)}},
		{path: "job", takes: text},
		{path: "param", takes: text},
		{path: "item", takes: number, max: job.MaxShards - 1},
		{path: "total", takes: number, min: 1, max: job.MaxShards},
		{path: "item_param", takes: text},
		{path: "attempt", takes: number, min: 1, max: 1_000_000},
		{path: "fence", takes: number, max: 1 << 62},
		{path: "scheduled", takes: moment},
		{path: "failover", takes: flag},
		{path: "misfire", takes: flag},
		{path: "config", takes: texts},
		{path: "args", takes: list},
		{path: "streaming", takes: flag},
		{path: "fetch_count", takes: number, min: 1, max: job.MaxBatch},
		{path: "concurrency", takes: number, min: 1, max: job.MaxConcurrency},

		{path: "timeout", takes: duration},
		{path: "grace", takes: duration},
		{path: "memory", takes: size, min: 64 << 10, max: 4 << 30},
		{path: "fuel", takes: number, min: 1, max: 1_000_000_000_000_000_000},

		{path: "clock", takes: moment},
		{path: "random", takes: flag},
		{path: "state", takes: texts},
		{path: "secrets", takes: texts},
		{path: "env", takes: texts},
		{path: "dirs", takes: list},
		{path: "http.*.want_headers", takes: texts},
		{path: "http.*.want_body", takes: text},
		{path: "http.*.status", takes: number, min: 100, max: 999},
		{path: "http.*.headers", takes: texts},
		{path: "http.*.body", takes: text},
		{path: "http.*.fails", takes: flag},
		{path: "instances.*", takes: texts},
		{path: "previous", takes: list},

		{path: "want.verdict", takes: word, words: []string{"ok", "skipped", "failed", "retryable", "deadline", "fuel"}},
		{path: "want.code", takes: number, min: -1 << 31, max: 1<<31 - 1},
		{path: "want.result", takes: text},
		{path: "want.reason", takes: text},
		{path: "want.log", takes: list},
		{path: "want.state", takes: texts},
		{path: "want.metrics", takes: sums},
		{path: "want.requests", takes: list},
		{path: "want.batches", takes: number, max: 1 << 62},
		{path: "want.succeeded", takes: number, max: 1 << 62},
		{path: "want.failed", takes: number, max: 1 << 62},
		{path: "want.owners", takes: list},
	}
	for i := range keys {
		keys[i].path, keys[i].plain = "cases.*."+keys[i].path, true
	}
	return keys
}

// ParseCases parses the cases for a module, in the order of the text; messages
// contain name, and relative directories start at its folder. A case's Rule is its
// place in the text; its Request lacks the module, and the kind if the case does
// not set it. If anything is wrong, the error is a Problems with all faults.
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

// inside are the paths that are one name below the table, which ends with a
// dot; paths are ascending.
func inside(paths []string, table string) []string {
	var names []string
	from, _ := slices.BinarySearch(paths, table)
	for _, path := range paths[from:] {
		name, ok := strings.CutPrefix(path, table)
		if !ok {
			break
		}
		if quoteKey(unquoteKey(name)) == name {
			names = append(names, path)
		}
	}
	return names
}

// What a case has that does not say.
const (
	caseTimeout  = 10 * time.Second // an endless loop is not to hang the test
	caseInstance = "127.0.0.1" + job.Delimiter + "test"
)

func caseScheduled() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
