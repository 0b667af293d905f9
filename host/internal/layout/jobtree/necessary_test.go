package jobtree_test

import (
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/registry"
)

// A view has the time of a reshard's mark only while the mark exists.
func TestTimeOfAReshardMark(t *testing.T) {
	t.Parallel()
	j := v21.NewJob("n", "j")
	d := j.NewDecoder(nil)
	at := time.UnixMilli(1_800_000_000_123)
	for _, want := range []int64{at.UnixMilli(), 0} {
		d.Apply(j.Root()+"/leader/sharding/necessary", registry.Node{Exists: want != 0, Stat: registry.Stat{ModifiedAt: at}})
		if v := d.View(); v.NecessaryAt != want || v.Necessary != (want != 0) {
			t.Errorf("the mark exists: %t, since %d; want %d", v.Necessary, v.NecessaryAt, want)
		}
	}
}
