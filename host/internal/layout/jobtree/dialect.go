package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Dialect is what one layout names and writes in its own way; layouts 2.1 and 3 differ in
// that, and in nodes that 3 has beside (trigger, failovering), which no dialect adds yet.
// Layouts 2.0 and 1 know members by their addresses: where a member registers, what it
// owns, and the marks of an item stand elsewhere there, and no dialect is asked for that
// yet either. Operations have the versions that their nodes must have; which fences those
// are is not the dialect's business.
type Dialect interface {
	// Name is the layout's, as a job's configuration has it.
	Name() string
	// Root says why the job's own node is not one of this layout; nil: it may be.
	Root(n registry.Node) error
	Configurer
	Registrar
}

// Configurer spells what members of ElasticJob are told of a job.
type Configurer interface {
	// FromJob is the configuration of a job of ours.
	FromJob(c job.Config) definition.Config
	// Parse reads the text of a configuration. Its error says what was expected.
	Parse(text []byte) (definition.Config, error)
	// Update makes text say what c says. What says the same stays as it is written;
	// without a difference the result is text itself.
	Update(text []byte, c definition.Config) ([]byte, error)
	// Rules is what the protocol reads of a configuration that Parse has given.
	Rules(c definition.Config) protocol.Config
	// Mask is a configuration as strangers may see it.
	Mask(text []byte) string

	// CreateConfig, SetConfig and CheckConfig write a configuration, and hold a
	// transaction against the version that a view has of it.
	CreateConfig(j Job, c protocol.Spelled) []registry.Op
	SetConfig(j Job, c protocol.Spelled, have protocol.Version) []registry.Op
	CheckConfig(j Job, have protocol.Version) []registry.Op
}

// Registrar spells who takes part, and what is asked of them.
type Registrar interface {
	// Instance is the value by which a member registers itself. Unregister takes its
	// node away, if nothing was asked of it since.
	Instance(id job.InstanceID) string
	Unregister(j Job, in protocol.Instance) []registry.Op
	// Server is the value that an operator's word about an address has, and Disabled
	// reads it.
	Server(disabled bool) string
	Disabled(server registry.Node) bool
	// Requested tells whether an instance's node asks it to begin, Request asks or
	// takes that away, and Unasked refuses a transaction if something was asked since.
	Requested(instance registry.Node) bool
	Request(j Job, in protocol.Instance, asked bool) []registry.Op
	Unasked(j Job, in protocol.Instance) []registry.Op
	// Running marks an item as running.
	Running(j Job, self job.InstanceID, item int) registry.Op
}
