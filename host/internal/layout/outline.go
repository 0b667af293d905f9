package layout

import "strings"

// Outline lists the paths from which one learns how a job is without looking at
// each of its items.
func (j Job) Outline() []string {
	nodes := []string{
		nodeConfig, nodeServers, nodeInstances, nodeLeaderInstance, nodeNecessary, nodeFailoverItems,
		nodeModule, nodeMembers, nodeAssignment, nodeRuns, nodePaused,
	}
	paths := []string{j.root}
	for _, n := range nodes {
		paths = append(paths, j.at(n))
	}
	return paths
}

// JobsIn is the node whose children are the jobs of a namespace.
func JobsIn(namespace string) string { return NewJob(namespace, "").namespace }

// Private tells whether the value at a path is a guest's own, and nobody else's
// to see.
func (j Job) Private(path string) bool {
	return strings.HasPrefix(path, j.at(nodeItems)+"/") && strings.HasSuffix(path, "/"+markState)
}
