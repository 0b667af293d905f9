package alert

import (
	"context"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/operator"
)

// A server that sees a job only after the instant by which the server before it has found the job
// late does not end that alert while nothing is assigned.
func TestLateBeforeTheJobWasSeen(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	for name, r := range map[string]operator.JobReport{"no item": {}, "not assigned": {Items: []operator.ItemReport{{}}}} {
		w := New(Options{})
		w.in.Report = func(context.Context, string) (*operator.JobReport, error) { return &r, nil }
		w.seen["j"] = at.Add(time.Hour)
		if w.isLate(t.Context(), "j", &watched{}, at) || len(w.take()) != 0 {
			t.Errorf("%s: late", name)
		}
		w.alerting[clustertree.AlertJob("j")] = true
		if again := w.isLate(t.Context(), "j", &watched{}, at); !again || len(w.take()) != 0 {
			t.Errorf("%s: the alert has ended, or is not checked again", name)
		}
		r = operator.JobReport{Items: []operator.ItemReport{{Accounted: at.Add(2 * time.Hour)}}}
		again, facts := w.isLate(t.Context(), "j", &watched{}, at), w.take()
		if again || len(facts) != 1 || !facts[0].over || facts[0].kind != Late {
			t.Errorf("%s: once assigned: %+v", name, facts)
		}
	}
}
