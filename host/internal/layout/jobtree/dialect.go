package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Dialect is what one layout names and writes in its own way. Layouts 2.0 and 1 identify
// members by their addresses: they keep registrations, owners and marks elsewhere, of
// which a dialect can write the registrations alone. Operations carry the versions that
// their nodes must have; the transaction gives them the names of their fences.
type Dialect interface {
	// Name is the layout's, as a job's configuration has it.
	Name() string
	// Root says why the job's own node is not one of this layout; nil: it may be.
	Root(n registry.Node) error
	// Added are the nodes that only this layout has; nil: none.
	Added() *Added
	Configurer
	ConfigNodes
	Registrar
	Requester
}

// Configurer spells the configuration that members of ElasticJob read.
type Configurer interface {
	// FromJob is the configuration of a job of ours.
	FromJob(c job.Config) definition.Config
	// Parse reads the text of a configuration. Its error says what was expected.
	Parse(text []byte) (definition.Config, error)
	// Update changes text to the configuration c. A value that does not differ stays as
	// it is written; without any difference the result is text itself.
	Update(text []byte, c definition.Config) ([]byte, error)
	// Rules is what the protocol reads of a configuration that Parse returned.
	Rules(c definition.Config) protocol.Config
	// Mask is a configuration without its secrets.
	Mask(text []byte) string
}

// ConfigNodes spells where a configuration is kept.
type ConfigNodes interface {
	// Text is the configuration that these nodes hold, and Version changes with it.
	Text(in Kept) []byte
	Version(in Kept) protocol.Version
	// CreateConfig and SetConfig write a configuration; old is what the view shows.
	// SetConfig and CheckConfig refuse a transaction if its version is not the one in the
	// view.
	CreateConfig(j Job, c protocol.Spelled) []registry.Op
	SetConfig(j Job, old, c protocol.Spelled, have protocol.Version) []registry.Op
	CheckConfig(j Job, have protocol.Version) []registry.Op
}

// Kept are the nodes that keep a configuration. Only layouts whose Added says so are given
// the job's own node, and those of keys.
type Kept struct {
	Name         string // of the job
	Root, Config registry.Node
	Keys         map[string]registry.Node // below config, by key
}

// Registrar spells which members and servers take part, and which items run.
type Registrar interface {
	// Register makes the node by which a member takes part, for as long as its session
	// lives. Unregister deletes it, if nothing was asked of the member since.
	Register(j Job, id job.InstanceID) []registry.Op
	Unregister(j Job, in protocol.Instance) []registry.Op
	// Server is the value of a server's node, with which an operator disables it, and
	// Disabled reads it.
	Server(disabled bool) string
	Disabled(server registry.Node) bool
	// Running marks an item as running; failover is the job's setting.
	Running(j Job, self job.InstanceID, item int, failover bool) registry.Op
}

// Requester spells what is asked of an instance.
type Requester interface {
	// Requested reports whether an instance's node asks it to begin. Request asks or
	// takes the request back. Unasked refuses a transaction if something was asked since.
	Requested(instance registry.Node) bool
	Request(j Job, in protocol.Instance, asked bool) []registry.Op
	Unasked(j Job, in protocol.Instance) []registry.Op
}
