package operator

import (
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Nobody leads, and doctor tells who is in the way: nobody, a member, or a stranger.
func TestCheckupTellsWhoKeepsAJobWithoutLeader(t *testing.T) {
	t.Parallel()
	place := javatest.Node("leader", "election", "latch", "_c_0f0f0f0f-0000-4000-8000-000000000001-latch-0000000000")
	for name, c := range map[string]struct {
		hold func(t *testing.T, member, stranger *Operator)
		want string
	}{
		"nobody":     {func(*testing.T, *Operator, *Operator) {}, "nobody leads, and nobody is in the queue of the election latch"},
		"a member":   {func(t *testing.T, member, _ *Operator) { put(t, member, registry.CreateEphemeral, place, "") }, "nobody leads: " + place + " is the first in the queue, and session"},
		"a stranger": {func(t *testing.T, _, stranger *Operator) { put(t, stranger, registry.CreateEphemeral, place, "") }, "holds it, which is no member of the job"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := passing(t)
			member, stranger := operate(t, reg), operate(t, reg)
			javatest.Write(t, member.session, javatest.Config(nil))
			put(t, member, registry.Delete, javatest.Node("leader", "election", "instance"), "")
			put(t, member, registry.Create, javatest.Node("leader", "election", "latch"), "")
			c.hold(t, member, stranger)
			all, err := stranger.Checkups(t.Context(), host.Options{Jobs: javatest.File(nil)})
			if err != nil || len(all) != 1 {
				t.Fatalf("%d jobs, %v", len(all), err)
			}
			wantLines(t, "notes", all[0].Notes[:1], []string{c.want})
			if name == "a member" {
				wantLines(t, "notes", all[0].Notes[:1], []string{"that of " + javatest.Member})
			}
		})
	}
}
