package layout

// Outline lists the paths from which one learns how a job is without looking at
// each of its items.
func (j Job) Outline() []string {
	nodes := []string{
		nodeConfig, nodeServers, nodeInstances, nodeLeaderInstance, nodeNecessary, nodeFailoverItems,
		nodeMembers, nodeAssignment, nodeRuns, nodePaused,
	}
	paths := []string{j.root}
	for _, n := range nodes {
		paths = append(paths, j.at(n))
	}
	return paths
}

// JobsIn is the node whose children are the jobs of a namespace.
func JobsIn(namespace string) string { return NewJob(namespace, "").namespace }
