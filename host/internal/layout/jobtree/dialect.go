package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Dialect is what differs between layouts: names and values of nodes. Layouts 2.0 and 1
// identify members by their addresses. They keep registrations, owners and marks elsewhere;
// of these a dialect can write only the registrations. Operations carry the versions that
// their nodes must have; the transaction gives names to these fences.
type Dialect interface {
	// Name is the name of the layout in a job's configuration.
	Name() string
	// Root returns why the job's own node is not of this layout; nil if it may be.
	Root(n registry.Node) error
	// Added returns the nodes that only some layouts have; nil if there are none.
	Added() *Added
	Configurer
	ConfigNodes
	Registrar
	Requester
}

// Configurer spells the configuration that members of ElasticJob read.
type Configurer interface {
	// FromJob returns the configuration of a job of ours.
	FromJob(c job.Config) definition.Config
	// Parse reads the text of a configuration. Its error names what was expected.
	Parse(text []byte) (definition.Config, error)
	// Update changes text to the configuration c. Equal values stay as they are written;
	// without any difference the result is text itself.
	Update(text []byte, c definition.Config) ([]byte, error)
	// Rules returns what the protocol uses of a configuration that Parse returned.
	Rules(c definition.Config) protocol.Config
	// Mask returns a configuration without its secrets.
	Mask(text []byte) string
}

// ConfigNodes spells where a configuration is stored.
type ConfigNodes interface {
	// Text returns the configuration in these nodes; Version changes whenever it does.
	Text(in Kept) []byte
	Version(in Kept) protocol.Version
	// CreateConfig and SetConfig write a configuration; old is the one in the view.
	// SetConfig and CheckConfig make the registry refuse the transaction if the version is
	// not the one in the view.
	CreateConfig(j Job, c protocol.Spelled) []registry.Op
	SetConfig(j Job, old, c protocol.Spelled, have protocol.Version) []registry.Op
	CheckConfig(j Job, have protocol.Version) []registry.Op
}

// Kept are the nodes that hold a configuration. The job's own node, and those of keys, are
// set only in layouts whose Added has them.
type Kept struct {
	Name         string // the job's name
	Root, Config registry.Node
	Keys         map[string]registry.Node // nodes below config, by key
}

// Registrar spells which members and servers take part, and which items run.
type Registrar interface {
	// Register creates the node with which a member takes part while its session lives.
	// Unregister deletes it, unless something was asked of the member since.
	Register(j Job, id job.InstanceID) []registry.Op
	Unregister(j Job, in protocol.Instance) []registry.Op
	// Server returns the value of a server's node, with which an operator disables it;
	// Disabled reads it.
	Server(disabled bool) string
	Disabled(server registry.Node) bool
	// Running marks an item as running; failover is the job's setting.
	Running(j Job, self job.InstanceID, item int, failover bool) registry.Op
}

// Requester spells requests to an instance.
type Requester interface {
	// Requested reports whether an instance's node asks it to begin. Request asks or takes
	// the request back. Unasked makes the registry refuse the transaction if something was
	// asked since.
	Requested(instance registry.Node) bool
	Request(j Job, in protocol.Instance, asked bool) []registry.Op
	Unasked(j Job, in protocol.Instance) []registry.Op
}
