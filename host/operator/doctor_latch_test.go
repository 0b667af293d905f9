package operator

import (
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/registry"
)

// For a job without a leader, doctor names the holder of the latch: a member, another session,
// or none.
func TestCheckupOfAJobWithoutLeader(t *testing.T) {
	t.Parallel()
	place := javatest.Node("leader", "election", "latch", "_c_0f0f0f0f-0000-4000-8000-000000000001-latch-0000000000")
	for name, c := range map[string]struct {
		hold func(t *testing.T, member, other *Operator)
		want string
	}{
		"nobody":   {func(*testing.T, *Operator, *Operator) {}, "no member leads, and the queue of the election latch is empty"},
		"a member": {func(t *testing.T, member, _ *Operator) { put(t, member, registry.CreateEphemeral, place, "") }, "no member leads: " + place + " is the first in the queue, and session"},
		"a other":  {func(t *testing.T, _, other *Operator) { put(t, other, registry.CreateEphemeral, place, "") }, "holds it, which belongs to no member of the job"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := passing(t)
			member, other := operate(t, reg), operate(t, reg)
			javatest.Write(t, member.session, javatest.Config(nil))
			put(t, member, registry.Delete, javatest.Node("leader", "election", "instance"), "")
			put(t, member, registry.Create, javatest.Node("leader", "election", "latch"), "")
			c.hold(t, member, other)
			all, err := other.Checkups(t.Context(), host.Options{Jobs: javatest.File(nil)})
			if err != nil || len(all) != 1 {
				t.Fatalf("%d jobs, %v", len(all), err)
			}
			wantLines(t, "notes", all[0].Notes[:1], []string{c.want})
			if name == "a member" {
				wantLines(t, "notes", all[0].Notes[:1], []string{" of " + javatest.Member})
			}
		})
	}
}
