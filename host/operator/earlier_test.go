package operator

import (
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/registry"
)

// What members of ElasticJob 2.0 do not know is refused in a job that they run, and they are
// shown by their addresses.
func TestVerbsInAJobOfForeignMembersAlone(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	javatest.Put(t, o.session, registry.Create, "/"+javatest.Namespace, "")
	javatest.Put(t, o.session, registry.Create, javatest.Node(), "")
	for _, n := range [][]string{{"config"}, {"servers"}, {"servers", "10.0.0.1"}, {"execution"}, {"execution", "0"}, {"leader"}, {"leader", "sharding"}} {
		javatest.Put(t, o.session, registry.Create, javatest.Node(n...), map[string]string{"config": javatest.Config(nil)}[n[0]])
	}
	javatest.Put(t, o.session, registry.CreateEphemeral, javatest.Node("servers", "10.0.0.1", "status"), "READY")
	wantCode(t, "item", o.SetItem(t.Context(), javatest.Name, 0, true), host.Refused)
	wantCode(t, "pause", o.Pause(t.Context(), javatest.Name, PauseTerms{}), host.Refused)
	gone, err := o.Shutdown(t.Context(), javatest.Name, Which{All: true})
	if wantCode(t, "shutdown", err, host.Refused); len(gone) > 0 {
		t.Errorf("it ended %q", gone)
	}
	r, err := o.Job(t.Context(), javatest.Name)
	if err != nil || len(r.Members) != 1 || r.Members[0].ID != "10.0.0.1" {
		t.Errorf("shown as %+v, %v", r, err)
	}
}
