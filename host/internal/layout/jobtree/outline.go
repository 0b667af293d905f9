package jobtree

import "strings"

// Outline lists the nodes from which one learns how a job is without looking at
// each of its items, as Watched does.
func (Job) Outline() []string {
	return []string{
		"", NodeConfig, NodeServers, NodeInstances, NodeLeaderInstance, NodeNecessary, NodeFailoverItems,
		NodeModule, NodeMembers, NodeAssignment, NodeRuns, NodePaused,
	}
}

// Definers lists those of the nodes of Job.Nodes.
func (Job) Definers() []string { return []string{NodeConfig, NodeModule, NodeMembers} }

// Private reports whether the value at a path belongs to a guest, and only the guest
// may see it.
func (j Job) Private(path string) bool {
	return strings.HasPrefix(path, j.at(NodeItems)+"/") && strings.HasSuffix(path, "/"+MarkState)
}
