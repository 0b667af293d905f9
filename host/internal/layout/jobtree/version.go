package jobtree

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// VersionOf returns the version of a part of the definition that is one node.
func VersionOf(n registry.Node) protocol.Version {
	return protocol.Version(strconv.Itoa(int(n.Stat.Version)))
}

// NodeVersion is the reverse of VersionOf. For a part that was never read it returns a
// version that no node has, so that the transaction is refused.
func NodeVersion(v protocol.Version) int32 {
	n, err := strconv.ParseInt(string(v), 10, 32)
	if err != nil {
		return impossibleVersion
	}
	return int32(n)
}

// OneNode is a configuration in one node.
type OneNode struct{}

// Text implements ConfigNodes.
func (OneNode) Text(in Kept) []byte { return in.Config.Data }

// Version implements ConfigNodes.
func (OneNode) Version(in Kept) protocol.Version { return VersionOf(in.Config) }

// CreateConfig writes the configuration of a new job.
func (OneNode) CreateConfig(j Job, c protocol.Spelled) []registry.Op {
	return []registry.Op{{Kind: registry.Create, Path: j.at(NodeConfig), Data: spelling.Bytes(c)}}
}

// SetConfig replaces the configuration, if its node still has the version in have.
func (OneNode) SetConfig(j Job, _, c protocol.Spelled, have protocol.Version) []registry.Op {
	return []registry.Op{{Kind: registry.Set, Path: j.at(NodeConfig), Data: spelling.Bytes(c), Version: NodeVersion(have)}}
}

// CheckConfig makes the registry refuse the transaction unless the node has the version in
// have.
func (OneNode) CheckConfig(j Job, have protocol.Version) []registry.Op {
	return []registry.Op{{Kind: registry.Check, Path: j.at(NodeConfig), Version: NodeVersion(have)}}
}
