package v21

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Relaxed tells whether a transaction of ours may be acknowledged before it is
// on the disk: it touches nothing but what runs leave in the tree. It then
// survives the death of the process; a loss of power may take the newest of
// such transactions back, which leaves an older but coherent tree. What an
// operator or a configuration file said must survive that too: config, module,
// pause, disabled items and servers. A path that is not known is not relaxed.
func Relaxed(ops []registry.Op) bool {
	for i := range ops {
		switch ops[i].Kind {
		case registry.Check, registry.Absent:
		default:
			if !runtimeNode(ops[i].Path) {
				return false
			}
		}
	}
	return true
}

// runtimeNode judges a path without knowing where the job's root is: names of
// namespaces and jobs may be those of nodes. In doubt the answer is no.
func runtimeNode(path string) bool {
	parts := strings.Split(path, "/")
	name := parts[len(parts)-1]
	switch name {
	case nodeConfig, markDisabled, lastOf(nodeModule), lastOf(nodePaused):
		return false
	}
	if slices.Contains(parts, nodeServers) {
		return false
	}
	for _, node := range []string{nodeInstances, nodeLeader, nodeSharding, nodeMembers, nodeRuns, nodeItems} {
		if strings.Contains(path, "/"+node+"/") {
			return true
		}
	}
	return strings.HasSuffix(path, "/"+nodeSharding) || strings.HasSuffix(path, "/"+nodeItems) || strings.HasSuffix(path, "/"+nodeWasm) || strings.HasSuffix(path, "/"+nodeAssignment) || strings.HasSuffix(path, "/"+nodeFires) || strings.HasSuffix(path, "/"+nodeMembers)
}

func lastOf(node string) string { return node[strings.LastIndexByte(node, '/')+1:] }
