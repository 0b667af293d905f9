package layout

import (
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v1"
	"github.com/wasmjob/wasmjob/host/internal/layout/v20"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/layout/v3"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Layout spells one job as some releases of ElasticJob do. Only a layout knows paths and
// values.
type Layout interface {
	Paths
	Reader
	Inspector
	Writer
	Keeper
	Sizer
	Definer
}

// Paths returns the paths of a job's nodes.
type Paths interface {
	// Root is the job's own node, above all others of it.
	Root() string
	// Namespace lists the nodes that must exist above every job, outermost first.
	Namespace() []string
	// At returns the path of a node by its name in Watched or Outline; "" is the job's own.
	At(name string) string
	// Instance is the node that makes a member count in sharding.
	Instance(id job.InstanceID) string
	// Nodes returns the nodes of the definition, and of the members that offer its modules.
	Nodes() (config, module, members string)
	// Removal returns the node that marks an unfinished removal, and the node above it,
	// which may be missing.
	Removal() (above, mark string)
}

// Reader makes views from nodes.
type Reader interface {
	// Watched lists the nodes from which a mirror of the job starts, by their names below
	// the job's own node, which comes first and has no name. Callers must not change the
	// list.
	Watched() []string
	// Below is the mirror's rule for the nodes below a node, by names as in Watched.
	Below(name string, n registry.Node) []string
	// Outline lists the nodes that show the job's state without its single items, and
	// Definers those of Nodes, by names as in Watched.
	Outline() []string
	Definers() []string
	// ItemNode is the name of the node above the marks of an item. A mirror does not follow
	// it, since it changes with each mark.
	ItemNode(i int) string
	// RunningMark reports whether a name is that of a running mark.
	RunningMark(name string) bool
	// NewDecoder returns a decoder that has seen no node. It shares records with other
	// decoders unless records is nil.
	NewDecoder(records spelling.Records) Decoder
}

// Inspector reads what operators ask for.
type Inspector interface {
	// Endings lists the nodes that show how the job's newest instants have ended, by names as
	// in Watched.
	Endings() []string
	// DecidedBy lists the nodes that suffice to decide and encode an operator's request, by
	// names as in Watched and without nodes below them. It is nil if the request needs the
	// whole job.
	DecidedBy(a protocol.Ask) []string
	// Began returns the item that an event shows as marked as running, if it does. The mark
	// may be gone by then.
	Began(e registry.Event) (item int, ok bool)
	// UnheldMarks names the marks of items that no session holds.
	UnheldMarks(v *protocol.View) []string
	// Masked returns the value at a path without its secrets, for people who do not operate
	// the job.
	Masked(path string, data []byte) string
}

// Writer turns mutations into transactions.
type Writer interface {
	// Encode spells a mutation, decided on view v, as one transaction. Its last
	// operation returns the revision.
	Encode(m protocol.Mutation, v *protocol.View) []registry.Op
	// EndInstance ends a member, or deletes a node that only looks like one.
	EndInstance(v *protocol.View, id job.InstanceID) []registry.Op
	// Occupied returns the item whose node could not be deleted because other nodes are
	// below it, if a transaction was refused for that. It counts from 1; 0 is none.
	Occupied(err error) int
	// CheckRecords refuses a transaction if a member has joined since the view, or has begun or
	// ended a run.
	CheckRecords(v *protocol.View) []registry.Op
	// Without returns the same spelling without the fence of that name. Only the simulator
	// uses it, to show what breaks without the fence.
	Without(fence string) Layout
}

// Keeper spells what the guests of an item store.
type Keeper interface {
	// StateOf returns the node of an item's state, with the nodes above it that may be
	// missing, outermost first.
	StateOf(item int) (above []string, path string)
	// OffsetOf returns the node that stores KeyOffset of the state as well, with the node
	// above it that may be missing. It is empty in layouts without such a node.
	OffsetOf(item int) (above, path string)
	// SaveState spells the replacement of an item's state, and SaveOffset that of its
	// offset, for the same transaction. n is the node when it was read.
	SaveState(self job.InstanceID, item int, n registry.Node, data []byte) []registry.Op
	SaveOffset(item int, n registry.Node, value []byte) []registry.Op
}

// Sizer tells how large transactions are.
type Sizer interface {
	// MaxNodes is the number of items' nodes that a transaction may write in addition to
	// values of ours, and NodeBytes the size of one of them as it is sent.
	MaxNodes() int
	NodeBytes() int
}

// Definer spells the definition of a job.
type Definer interface {
	// Define returns the definition of a job.
	Define(c job.Config) definition.Definition
	// Spell returns a definition as the registry will hold it. Only values that differ from
	// old, which the registry holds, are rewritten.
	Spell(old protocol.Definition, d definition.Definition) (protocol.Definition, error)
	// Defined returns the job's definition in a view. A part is nil if it is missing or
	// cannot be read; the view's faults tell which.
	Defined(v *protocol.View) (config definition.Config, module *definition.Module)
	// Keys returns the nodes that hold a configuration in addition to config.
	Keys(config registry.Node) []string
	// ReadDefinition reads the nodes of a configuration, of which config exists, and that
	// of its module. If one cannot be read, the error names its path and what was expected.
	ReadDefinition(config Kept, module registry.Node) (definition.Definition, error)
}

// Decoder turns changed nodes into the protocol's facts.
type Decoder interface {
	// Apply records one changed node.
	Apply(path string, n registry.Node)
	// View publishes the facts as a new view.
	View() *protocol.View
}

// Kept are the nodes that hold a configuration.
type Kept = jobtree.Kept

// layouts are the layouts that this release knows, by their names in a job's configuration.
var layouts = map[string]func(namespace, name string) jobtree.Job{
	job.Layout1:  v1.NewJob,
	job.Layout20: v20.NewJob,
	job.Layout21: v21.NewJob,
	job.Layout3:  v3.NewJob,
}

// Known reports whether this release knows a layout.
func Known(layout string) bool { return layouts[layout] != nil }

// New returns the spelling of a job in a namespace, which may contain slashes. The layout
// must be known: job.Config.Validate refuses others.
func New(layout, namespace, name string) Layout {
	if !Known(layout) {
		panic(fmt.Sprintf("layout %q of job %q was not validated", layout, name))
	}
	return tree{layouts[layout](namespace, name)}
}

// NewJob returns the spelling of a job before any of its nodes was read. It suffices for
// reading; before a write, use Found.
func NewJob(namespace, name string) Layout { return New(job.Layout21, namespace, name) }

// Check returns an error if a job's layout cannot keep all of it. job.Config.Validate
// reports a layout that this release does not know.
func Check(c job.Config) error {
	if !Known(c.Layout) {
		return nil
	}
	_, err := New(c.Layout, "", c.Name).Define(c).Config.Object()
	return err
}

// JobsIn is the node whose children are the jobs of a namespace.
func JobsIn(namespace string) string { return "/" + strings.Trim(namespace, "/") }

// Relaxed reports whether a transaction of ours may be acknowledged before it is on
// the disk. It decides by the paths of the nodes; a path that no layout knows is not
// relaxed.
func Relaxed(ops []registry.Op) bool { return jobtree.Relaxed(ops) }

// tree is a job in any layout.
type tree struct{ jobtree.Job }

func (t tree) NewDecoder(records spelling.Records) Decoder { return t.Job.NewDecoder(records) }
func (t tree) Without(fence string) Layout                 { return tree{t.Job.Without(fence)} }
