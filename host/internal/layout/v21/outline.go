package v21

import "strings"

// Outline lists the nodes from which one learns how a job is without looking at
// each of its items, as Watched does.
func (Job) Outline() []string {
	return []string{
		"", nodeConfig, nodeServers, nodeInstances, nodeLeaderInstance, nodeNecessary, nodeFailoverItems,
		nodeModule, nodeMembers, nodeAssignment, nodeRuns, nodePaused,
	}
}

// Definers lists those of the nodes of Job.Nodes.
func (Job) Definers() []string { return []string{nodeConfig, nodeModule, nodeMembers} }

// Private tells whether the value at a path is a guest's own, and nobody else's
// to see.
func (j Job) Private(path string) bool {
	return strings.HasPrefix(path, j.at(nodeItems)+"/") && strings.HasSuffix(path, "/"+markState)
}
