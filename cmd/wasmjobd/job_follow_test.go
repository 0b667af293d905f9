package main

import (
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
)

// TestFollowedItem shows looks at an item for which the run t-1 was requested.
func TestFollowedItem(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	idle := func(begin, end, failures int) operator.ItemReport {
		return operator.ItemReport{LastBegin: at(begin), LastEnd: at(end), Failures: failures}
	}
	runs := func(request string, begin, end int) operator.ItemReport {
		i := idle(begin, end, 0)
		i.Runner, i.Run = "a@-@1", operator.RunReport{Begun: at(begin), Request: request}
		return i
	}
	waits := func(i operator.ItemReport) operator.ItemReport {
		i.Waits = []string{"t-1"}
		return i
	}
	for _, tt := range []struct {
		name  string
		looks []operator.ItemReport // the first is from before the request
		want  []endedItem           // empty: the run goes on
	}{
		{"seen at once", []operator.ItemReport{idle(10, 11, 0), runs("t-1", 20, 11), idle(20, 22, 0)}, []endedItem{{Ended: at(22).UTC()}}},
		{"it fails", []operator.ItemReport{idle(10, 11, 0), runs("t-1", 20, 11), idle(20, 22, 1)}, []endedItem{{Failed: true, Ended: at(22).UTC()}}},
		{"it is to be retried", []operator.ItemReport{idle(10, 11, 0), runs("t-1", 20, 11), waits(idle(20, 22, 1))}, nil},
		{"too short to be seen", []operator.ItemReport{idle(10, 11, 0), idle(20, 20, 0)}, []endedItem{{Ended: at(20).UTC()}}},
		{"not there yet", []operator.ItemReport{idle(10, 11, 0), idle(10, 11, 0)}, nil},
		{"behind another run", []operator.ItemReport{runs("", 10, 9), waits(runs("", 10, 9)), runs("t-1", 20, 20), idle(20, 22, 0)}, []endedItem{{Ended: at(22).UTC()}}},
		{"given up as the run before ends", []operator.ItemReport{runs("", 10, 9), waits(runs("", 10, 9)), idle(10, 20, 0)}, []endedItem{{NotBegun: true}}},
		{"given up for the next instant", []operator.ItemReport{runs("", 10, 9), waits(runs("", 10, 9)), runs("", 20, 20)}, []endedItem{{NotBegun: true}}},
		{"given up while it waits alone", []operator.ItemReport{idle(10, 11, 0), waits(idle(10, 11, 0)), idle(10, 11, 0)}, []endedItem{{NotBegun: true}}},
		{"another begins before it was seen", []operator.ItemReport{idle(10, 11, 0), runs("", 20, 11)}, nil},
	} {
		open := map[int]*followedItem{0: {run: "t-1", before: tt.looks[0]}}
		var got []endedItem
		for _, i := range tt.looks[1:] {
			got = append(got, endedOf(&operator.JobReport{Items: []operator.ItemReport{i}}, open)...)
		}
		if len(got) > 0 && got[0].NotBegun {
			got[0].Ended = time.Time{}
		}
		if !slices.Equal(got, tt.want) || (len(open) == 0) != (len(tt.want) > 0) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	gone := &followedItem{run: "t-1", before: idle(10, 11, 0)}
	i, looks := idle(10, 11, 0), 1
	for !gone.over(&i) {
		looks++
	}
	if gone.began || looks != looksForRun+1 {
		t.Errorf("after %d looks: %+v", looks, gone)
	}
}
