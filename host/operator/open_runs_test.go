package operator

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// A run can be cancelled by the names under which it is shown: its id, or the time of the
// instant that its guest sees.
func TestOpenRunsAreNamedAsShown(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000
	v := &protocol.View{Runs: []protocol.Runs{{ID: "10.0.0.1@-@1", RunsData: &protocol.RunsData{Open: []protocol.Entry{
		{Item: 0, Instant: 3 * hour, Cause: protocol.Scheduled},
		{Item: 1, Instant: 5 * hour, Trigger: "3600000", Cause: protocol.Scheduled, First: hour},
		{Item: 2, Instant: 5 * hour, Trigger: "t-1", Cause: protocol.Triggered, First: 2 * hour},
		{Item: 3, Instant: 5 * hour, Trigger: "t-2", Cause: protocol.Triggered},
	}}}}}
	for run, want := range map[string][]int{
		"":                     {0, 1, 2, 3},
		"t-1":                  {2},
		"3600000":              {1},
		"1970-01-01T01:00:00Z": {1},
		"1970-01-01T02:00:00Z": {2},
		"1970-01-01T03:00:00Z": {0},
		"1970-01-01T05:00:00Z": {3},
		"1970-01-01T04:00:00Z": nil,
	} {
		var items []int
		for _, r := range openRuns(v, CancelFilter{Run: run}) {
			items = append(items, r.Item)
		}
		if !slices.Equal(items, want) {
			t.Errorf("%q names the runs of %v, want %v", run, items, want)
		}
	}
}
