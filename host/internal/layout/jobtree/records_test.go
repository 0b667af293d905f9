package jobtree_test

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/registry"
)

func TestSharedRecordsAreDecodedOnce(t *testing.T) {
	t.Parallel()
	j := v21.NewJob("ns", "j")
	path := j.Root() + "/wasm/runs/10.0.0.1@-@1"
	node := func(data string) registry.Node { return registry.Node{Exists: true, Data: []byte(data)} }
	records := spelling.Records{}
	a, b := j.NewDecoder(records), j.NewDecoder(records)
	a.Apply(path, node(`{"v":1,"seq":7}`))
	b.Apply(path, node(`{"v":1,"seq":7}`))
	if va, vb := a.View(), b.View(); va.Runs[0].Seq != 7 || vb.Runs[0].Seq != 7 || len(records) != 1 {
		t.Errorf("numbers %d and %d of %d records", va.Runs[0].Seq, vb.Runs[0].Seq, len(records))
	}
	b.Apply(path, node(`{"v":1,"seq":8}`))
	if v := b.View(); v.Runs[0].Seq != 8 {
		t.Errorf("other bytes have number %d", v.Runs[0].Seq)
	}
	a.Apply(j.Root()+"/wasm/assignment", node(`{"v":1,"total":2,"members":[],"owners":[],"last":[]}`))
	b.Apply(j.Root()+"/wasm/assignment", node(`{"v":1,"total":2,"members":[],"owners":[],"last":[]}`))
	if va, vb := a.View(), b.View(); va.Assignment.Total != 2 || vb.Assignment.Total != 2 || len(records) != 3 {
		t.Errorf("assignments of %d and %d items, %d values", va.Assignment.Total, vb.Assignment.Total, len(records))
	}
	for _, d := range []*jobtree.Decoder{a, b} { // a value that one decoder cannot read, the next one cannot read either
		d.Apply(path, node(`{"v":3}`))
		if v := d.View(); v.RecordFault == "" {
			t.Errorf("a record of another version has the fault %q", v.RecordFault)
		}
	}
}
