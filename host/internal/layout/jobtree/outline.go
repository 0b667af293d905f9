package jobtree

import "strings"

// Outline lists the nodes that show a job's state without its single items, by names as in
// Watched.
func (j Job) Outline() []string {
	outline := []string{
		"", NodeConfig, NodeServers, NodeInstances, NodeLeaderInstance, NodeNecessary, NodeFailoverItems,
		NodeModule, NodeMembers, NodeAssignment, NodeRuns, NodePaused,
	}
	if j.byAddress() {
		return byAddress(outline)
	}
	return outline
}

// Endings lists the nodes that show how the job's newest instants have ended.
func (j Job) Endings() []string { return append(j.Outline(), NodeFires) }

// Definers lists the nodes of Job.Nodes.
func (Job) Definers() []string { return []string{NodeConfig, NodeModule, NodeMembers} }

// Private reports whether a path is that of a guest's state or offset, whose value is for
// the guest only.
func (j Job) Private(path string) bool {
	if dir, _ := j.OffsetOf(0); dir != "" && strings.HasPrefix(path, dir+"/") {
		return true
	}
	return strings.HasPrefix(path, j.at(NodeItems)+"/") && strings.HasSuffix(path, "/"+MarkState)
}
