package tree_test

import (
	"fmt"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// BenchmarkCommit measures the transactions of a run's beginning and end: two checks, a set,
// and running nodes that are created and deleted.
func BenchmarkCommit(b *testing.B) {
	tr := tree.New()
	ops := []registry.Op{create("/j", ""), create("/j/sharding", ""), create("/j/runs", "")}
	for i := range 100 {
		ops = append(ops, create(fmt.Sprintf("/j/sharding/%d", i), ""))
	}
	if _, _, err := tr.Commit(1, 0, ops); err != nil {
		b.Fatal(err)
	}
	begin := []registry.Op{check("/j", 0), check("/j/sharding", 0), set("/j/runs", "entry", registry.AnyVersion)}
	end := []registry.Op{check("/j", 0), check("/j/sharding", 0), set("/j/runs", "row", registry.AnyVersion)}
	for i := range 5 {
		running := fmt.Sprintf("/j/sharding/%d/running", i)
		begin = append(begin, ephemeral(running))
		end = append(end, remove(running))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		which := begin
		if i%2 == 1 {
			which = end
		}
		if _, _, err := tr.Commit(1, int64(i), which); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReshard measures the creation of ten thousand nodes under one parent at once.
func BenchmarkReshard(b *testing.B) {
	ops := []registry.Op{create("/s", "")}
	for i := range 10_000 {
		ops = append(ops, create(fmt.Sprintf("/s/%d", i), ""))
	}
	for b.Loop() {
		if _, _, err := tree.New().Commit(1, 0, ops); err != nil {
			b.Fatal(err)
		}
	}
}
