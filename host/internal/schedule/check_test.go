package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// A schedule that can never fire is an error. One that is over, or a job without one, is
// not.
func TestCheck(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ cron, fault string }{
		{"", ""},
		{"0 * * * * ?", ""},
		{"0 0 0 1 1 ? 2000", ""}, // over
		{"0 0 0 30 2 ?", `cron: "0 0 0 30 2 ?" never fires`},
		{"nonsense", "cron: "},
	} {
		err := Check(job.Config{Cron: tt.cron, TimeZone: "UTC"}, now)
		if (err == nil) != (tt.fault == "") || err != nil && !strings.HasPrefix(err.Error(), tt.fault) {
			t.Errorf("%q: %v, want %q", tt.cron, err, tt.fault)
		}
	}
}
