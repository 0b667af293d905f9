package jobtree

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Relaxed reports whether a transaction of ours may be acknowledged before it is on the
// disk: it writes only nodes that runs leave in the tree. It then survives the death of the
// process. A loss of power may undo the newest of such transactions, which leaves an older
// but coherent tree. Writes of an operator or from a configuration file must survive that
// as well: config, module, pause, disabled items and servers. An unknown path is not
// relaxed.
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

// runtimeNode reports whether runs leave a node in the tree, so that operators need not
// rely on it. It decides by the path alone, without knowing the job's root: names of
// namespaces and jobs may be those of nodes. If the path allows both, the answer is no.
func runtimeNode(path string) bool {
	parts := strings.Split(path, "/")
	name := parts[len(parts)-1]
	switch name {
	case NodeConfig, MarkDisabled, lastOf(NodeModule), lastOf(NodePaused):
		return false
	}
	if slices.Contains(parts, NodeServers) || len(parts) > 1 && parts[len(parts)-2] == NodeConfig {
		return false
	}
	for _, node := range []string{NodeInstances, NodeLeader, NodeSharding, nodeExecution, NodeMembers, NodeRuns, NodeItems, nodeOffset} {
		if strings.Contains(path, "/"+node+"/") {
			return true
		}
	}
	return strings.HasSuffix(path, "/"+NodeSharding) || strings.HasSuffix(path, "/"+NodeItems) || strings.HasSuffix(path, "/"+NodeWasm) || strings.HasSuffix(path, "/"+NodeAssignment) || strings.HasSuffix(path, "/"+NodeFires) || strings.HasSuffix(path, "/"+NodeMembers)
}

func lastOf(node string) string { return node[strings.LastIndexByte(node, '/')+1:] }
