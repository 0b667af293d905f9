package job

import (
	"slices"
	"testing"
	"time"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	names := func(c Call) (all []string) {
		for _, v := range c.Variables() {
			all = append(all, v[0]+"="+v[1])
		}
		return all
	}
	least := []string{"WASMJOB_JOB=j", "WASMJOB_ITEM=1", "WASMJOB_TOTAL=3", "WASMJOB_RUN_ID=j/1/5", "WASMJOB_ATTEMPT=2", "WASMJOB_FENCE=7"}
	c := Call{Config: Config{Name: "j"}, Item: 1, Total: 3, RunID: "j/1/5", Attempt: 2, Fence: 7}
	if got, want := names(c), append(slices.Clone(least), "WASMJOB_JOB_PARAM="); !slices.Equal(got, want) {
		t.Errorf("neither parameters nor an instant: %q, want %q", got, want)
	}
	c.Config.Param, c.ItemParam, c.HasItemParam = "a\x00b", "", true
	c.Scheduled = time.Date(2026, 3, 1, 1, 0, 0, 0, time.FixedZone("", 3600))
	want := append(slices.Clone(least), "WASMJOB_ITEM_PARAM=", "WASMJOB_SCHEDULED=2026-03-01T00:00:00.000Z")
	if got := names(c); !slices.Equal(got, want) {
		t.Errorf("a NUL, an empty parameter, another zone: %q, want %q", got, want)
	}
}
