package trace_test

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/trace"
)

// The histories of several servers form one: in order, and with rows that two of them have only
// once.
func TestMerge(t *testing.T) {
	t.Parallel()
	row := func(i int, at int64, n int) trace.Row {
		return item(i, trace.Row{Job: "j", Run: "r", Attempt: n, Instant: at, State: trace.Succeeded})
	}
	a, b, c := row(0, 10, 1), row(1, 10, 1), row(0, 20, 1)
	again, last := row(0, 20, 2), row(1, 30, 1)
	detail := row(0, 20, 2) // by a server that lost the registry and lived on
	detail.State, detail.End = trace.TakenOver, 25
	taken := detail
	taken.End = 0
	for name, c := range map[string]struct {
		histories [][]trace.Row
		want      []trace.Row
	}{
		"none":                  {nil, nil},
		"one":                   {[][]trace.Row{{a, c}}, []trace.Row{a, c}},
		"apart":                 {[][]trace.Row{{a, c}, {b, last}}, []trace.Row{a, b, c, last}},
		"in both":               {[][]trace.Row{{a, b, c}, {b, c, again}, {c}}, []trace.Row{a, b, c, again}},
		"one has the last word": {[][]trace.Row{{a, detail}, {a, again}}, []trace.Row{a, again}},
		"the other has it":      {[][]trace.Row{{a, again}, {a, detail}}, []trace.Row{a, again}},
		"one knows the end":     {[][]trace.Row{{taken}, {detail}, {taken, last}}, []trace.Row{detail, last}},
		"one is empty":          {[][]trace.Row{{}, {a, last}, {}}, []trace.Row{a, last}},
		"one is short":          {[][]trace.Row{{a}, {a, b, c, last}}, []trace.Row{a, b, c, last}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []iter.Seq2[trace.Row, error]
			for _, h := range c.histories {
				all = append(all, seq(h))
			}
			var got []trace.Row
			for r, err := range trace.Merge(all...) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			for range trace.Merge(all...) {
				break // leaving the loop must end all histories
			}
		})
	}
}

func TestMergeOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	errDisk := errors.New("disk")
	broken := func(yield func(trace.Row, error) bool) { yield(trace.Row{}, errDisk) }
	var errs []error
	for _, err := range trace.Merge(seq([]trace.Row{{Instant: 1}}), broken) {
		errs = append(errs, err)
	}
	if !slices.Equal(errs, []error{errDisk}) {
		t.Errorf("errors %v, want that of the disk and no more", errs)
	}
}
