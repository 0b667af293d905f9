package runner

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// The status omits an item whose node exists only because of a foreign node below it.
func TestStatusOfItemsBeyondTheTotal(t *testing.T) {
	t.Parallel()
	r := New(Options{Config: new(testConfig())})
	r.snapshot.Store(&snapshot{effective: &effective{job: new(testConfig())}, view: &protocol.View{
		Config: &protocol.Config{Total: 1},
		Items:  []protocol.Item{{Exists: true, Owner: "a"}, {Exists: true, Owner: "a"}, {Exists: true}},
	}})
	if s := r.Status(); len(s.Items) != 2 || s.Items[1].Item != 1 {
		t.Errorf("items %+v, want the one that is needed and the one that is about to go", s.Items)
	}
}
