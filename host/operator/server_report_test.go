package operator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/job"
)

// A server counts once for a job, even while the member of its last session is still there.
func TestServersWithTwoMembersOfAJob(t *testing.T) {
	t.Parallel()
	two := JobReport{Members: []MemberReport{{ID: job.NewInstanceID("10.0.0.1", "7"), Items: 1}, {ID: job.NewInstanceID("10.0.0.1", "8"), Items: 2}}}
	want := []ServerReport{{IP: "10.0.0.1", Members: 2, Items: 6}}
	if diff := cmp.Diff(want, ServersOf([]JobReport{two, two})); diff != "" {
		t.Error(diff)
	}
}
