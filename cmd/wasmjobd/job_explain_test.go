package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
)

// A job that cannot be read has a schedule that is not known, rather than none.
func TestExplainedWithoutConfiguration(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.Date(2026, 1, 31, 2, 0, 0, 0, time.UTC)} {
		var out bytes.Buffer
		e := &operator.Explanation{Job: "cmd", At: at, Unreadable: reason.Of(reason.ConfigUnreadable, "/jobs/cmd/config: expected JSON")}
		if err := printExplained(&terminal{out: &out}, e, time.UTC); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(out.String(), "\n")
		if !strings.HasPrefix(head, "job cmd") || !strings.HasSuffix(head, ": /jobs/cmd/config: expected JSON") || at.IsZero() == strings.Contains(head, " at 2026-") {
			t.Errorf("at %s: %s", at, out.String())
		}
	}
}
