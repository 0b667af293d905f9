package jobtree

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// UnheldMarks names the marks of items that no session holds. Members of ElasticJob take
// such an item for running, and none of them clears the mark.
func (j Job) UnheldMarks(v *protocol.View) []string {
	var paths []string
	for i, it := range v.Items {
		if it.Abandoned {
			paths = append(paths, j.Item(i, MarkRunning))
		}
		if it.Failover != "" && it.TakerSession == 0 {
			mark := MarkFailover
			if it.Nodes.Has(onlyFailovering) {
				mark = MarkFailovering
			}
			paths = append(paths, j.Item(i, mark))
		}
	}
	return paths
}

// Began returns the item whose running mark an event shows as created, if it does. The mark
// may be gone by then: an event with one change that leaves no node is of a deletion alone.
func (j Job) Began(e registry.Event) (item int, ok bool) {
	if e.Kind != registry.Changed || e.Changes == 0 || e.Gone && e.Changes == 1 {
		return 0, false
	}
	path, below := strings.CutPrefix(e.Path, j.at(NodeSharding)+"/")
	name, mark, _ := strings.Cut(path, "/")
	if !below || mark != MarkRunning {
		return 0, false
	}
	return spelling.ItemNumber(name)
}
