package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// DecidedBy lists the nodes that suffice to decide and encode an operator's request, by
// names as in Watched and without nodes below them. It is nil if the request needs the
// whole job, as all do where the nodes of servers say which member is which.
func (j Job) DecidedBy(a protocol.Ask) []string {
	if j.byAddress() {
		return nil
	}
	decided := []string{"", NodeConfig, NodeAssignment}
	switch a := a.(type) {
	case protocol.AskPause:
		return append(decided, NodePaused)
	case protocol.AskReshard:
		return append(decided, NodeNecessary)
	case protocol.AskServer:
		return append(decided, NodeServers+"/"+a.IP)
	case protocol.AskItem:
		return append(decided, NodeSharding, j.ItemNode(a.Item)+"/"+MarkDisabled)
	case protocol.AskTrigger, protocol.AskConfig, protocol.AskDefine, protocol.AskBackfill, protocol.AskCancelBackfill, protocol.AskLeave:
	}
	return nil
}

// CheckRecords refuses a transaction if a member has joined since the view, or has begun or
// ended a run.
func (j Job) CheckRecords(v *protocol.View) []registry.Op {
	checks := make([]registry.Op, 0, len(v.Runs)+1)
	for i := range v.Runs {
		checks = append(checks, registry.Op{Kind: registry.Check, Path: j.runsOf(v.Runs[i].ID), Version: v.Runs[i].Version})
	}
	if has(v, NodeMembers) {
		checks = append(checks, registry.Op{Kind: registry.Check, Path: j.at(NodeMembers), Version: v.Joins})
	}
	return checks
}
