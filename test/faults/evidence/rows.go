package evidence

import (
	"cmp"
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// unique sorts rows and drops duplicates: a row may be stored by the server that died
// and by the one that took over its record. A server that lost the registry and lived
// has a row of its own; unique drops it if the server that took over the run has the
// attempt's last row.
func unique(rows []trace.Row) []trace.Row {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b trace.Row) int { return cmp.Or(compareAttempts(a, b), cmp.Compare(a.State, b.State)) })
	sorted = slices.CompactFunc(sorted, func(a, b trace.Row) bool { return compareAttempts(a, b) == 0 && a.State == b.State })
	var kept []trace.Row
	for k, r := range sorted {
		another := k > 0 && compareAttempts(sorted[k-1], r) == 0 || k+1 < len(sorted) && compareAttempts(r, sorted[k+1]) == 0
		if !another || r.State != trace.TakenOver || r.Reason.Code != reason.RegistryLost {
			kept = append(kept, r)
		}
	}
	return kept
}

// compareAttempts orders rows by what they are about, as trace.Check needs them.
func compareAttempts(a, b trace.Row) int {
	return cmp.Or(cmp.Compare(a.Instant, b.Instant), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Job, b.Job),
		cmp.Compare(a.Run, b.Run), cmp.Compare(a.Attempt, b.Attempt))
}
