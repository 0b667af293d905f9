package clustertree

import (
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Suffix ends the name of the root, which begins with the namespace.
const Suffix = ".wasmjobd"

// Names of nodes below the root.
const (
	NodeTokens = "tokens"
	NodeAudit  = "audit"
	NodeKeys   = "keys"
	// NodeSessions has the sessions of browsers.
	NodeSessions = "sessions"
	// NodeCancels has the newest requests to cancel runs.
	NodeCancels = "cancels"
	NodeAlerts  = "alerts"
	// NodeServers has the servers that others can ask, by their keys.
	NodeServers = "servers"
	// NodeDrains has the servers that are to start nothing.
	NodeDrains = "drains"
	// NodeVersions has the modules that have names.
	NodeVersions = "versions"
	// NodeMaintenance has the present maintenance, or the last one.
	NodeMaintenance = "maintenance"
	// NodeDeliverer belongs to the server that delivers alerts.
	NodeDeliverer = "deliverer"
	// AuditPrefix begins the names of rows below NodeAudit; ten digits follow it.
	AuditPrefix = "row-"
)

// Tree has the paths of one cluster's state.
type Tree struct{ root string }

// Of returns the tree of the cluster with a namespace.
func Of(namespace string) Tree { return Tree{"/" + strings.Trim(namespace, "/") + Suffix} }

// Reserved reports whether a name, or a part of a path, is reserved for a root.
func Reserved(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasSuffix(part, Suffix) {
			return true
		}
	}
	return false
}

// CheckJob refuses the name of a job that is reserved.
func CheckJob(name string) error {
	if Reserved(name) {
		return fmt.Errorf("its name ends in %s, as the state of a cluster does; choose another", Suffix)
	}
	return nil
}

// Root is the node above all others.
func (t Tree) Root() string { return t.root }

// Tokens is the node with all tokens.
func (t Tree) Tokens() string { return t.root + "/" + NodeTokens }

// Sessions is the node with the sessions of browsers.
func (t Tree) Sessions() string { return t.root + "/" + NodeSessions }

// Cancels is the node with the requests to cancel runs.
func (t Tree) Cancels() string { return t.root + "/" + NodeCancels }

// Alerts is the node with all alerts.
func (t Tree) Alerts() string { return t.root + "/" + NodeAlerts }

// Drains is the node with the servers that are drained.
func (t Tree) Drains() string { return t.root + "/" + NodeDrains }

// Versions is the node with the modules that have names.
func (t Tree) Versions() string { return t.root + "/" + NodeVersions }

// Maintenance is the node with the maintenance.
func (t Tree) Maintenance() string { return t.root + "/" + NodeMaintenance }

// Deliverer is the ephemeral node of the server that delivers alerts.
func (t Tree) Deliverer() string { return t.root + "/" + NodeDeliverer }

// Servers is the node above those of the servers that others can ask.
func (t Tree) Servers() string { return t.root + "/" + NodeServers }

// Server is the ephemeral node of a server, by its key in hex.
func (t Tree) Server(key string) string { return t.Servers() + "/" + key }

// Audit is the node above the rows of the audit.
func (t Tree) Audit() string { return t.root + "/" + NodeAudit }

// Row is the node of a row of the audit, by its name.
func (t Tree) Row(name string) string { return t.Audit() + "/" + name }

// AuditRow returns the operation that adds a row.
func (t Tree) AuditRow(r Row) registry.Op {
	return registry.Op{Kind: registry.CreateSequential, Path: t.Row(AuditPrefix), Data: r.Encode()}
}

// Keys is the node that has an idempotency key, with others.
func (t Tree) Keys(k Key) string { return t.root + "/" + NodeKeys + "/" + string(k)[:2] }

// Named returns the root and the persistent nodes right below it.
func (t Tree) Named() []string {
	all := []string{t.root}
	for _, name := range []string{NodeTokens, NodeSessions, NodeAudit, NodeKeys, NodeCancels, NodeAlerts, NodeServers, NodeDrains, NodeVersions, NodeMaintenance} {
		all = append(all, t.root+"/"+name)
	}
	return all
}

// Parents returns the nodes that must exist before anything is written, outermost first:
// those of the namespace's path, the root, and the nodes above rows and keys, which every
// write may add.
func (t Tree) Parents() []string {
	var all []string
	for i, c := range t.root {
		if c == '/' && i > 0 {
			all = append(all, t.root[:i])
		}
	}
	return append(all, t.root, t.Audit(), t.root+"/"+NodeKeys)
}
