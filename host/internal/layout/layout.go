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

// Layout spells one job in the way of some releases of ElasticJob. Only a layout
// knows paths and values.
type Layout interface {
	Paths
	Reader
	Inspector
	Writer
	Keeper
	Sizer
	Definer
}

// Paths are where nodes of the job are.
type Paths interface {
	// Root is the node of the job, above all others of it.
	Root() string
	// Namespace lists the nodes that must exist above every job, outermost first.
	Namespace() []string
	// At is the path of a node by its name in Watched or Outline; "" is the job's own.
	At(name string) string
	// Instance is the node that registers a member for sharding.
	Instance(id job.InstanceID) string
	// Nodes are the nodes of the definition, and of the members that offer its modules.
	Nodes() (config, module, members string)
	// Removal is the node that marks a removal as unfinished, and the one above it, which
	// may be missing.
	Removal() (above, mark string)
}

// Reader makes views of nodes.
type Reader interface {
	// Watched lists the nodes from which a mirror of the job starts, by their names
	// below the job's own, which is the first and has none. Callers do not change the
	// list.
	Watched() []string
	// Below is the mirror's rule of what lies below a node, by names as in Watched.
	Below(name string, n registry.Node) []string
	// Outline lists the nodes that show the job's state without each of its items, and
	// Definers those of Nodes, by names as in Watched.
	Outline() []string
	Definers() []string
	// ItemNode is the name of the node above the marks of an item. It is not
	// followed: it changes with each of them.
	ItemNode(i int) string
	// RunningMark reports whether a name is the name of a run's mark.
	RunningMark(name string) bool
	// NewDecoder is a decoder that has seen no node. It shares records with other
	// decoders unless records is nil.
	NewDecoder(records spelling.Records) Decoder
}

// Inspector reads from nodes what operators ask for.
type Inspector interface {
	// Endings lists the nodes that show how the job's newest instants have ended, by names as
	// in Watched.
	Endings() []string
	// DecidedBy lists the nodes by which an operator's request is decided and spelled, by
	// names as in Watched and none below them. It is nil if that is the whole job.
	DecidedBy(a protocol.Ask) []string
	// Began returns the item that an event shows as marked as running, if it shows one.
	// The mark may be gone again.
	Began(e registry.Event) (item int, ok bool)
	// UnheldMarks names the marks of items that no session holds.
	UnheldMarks(v *protocol.View) []string
	// Masked is the value at a path without its secrets, for people who do not operate
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
	// Without is the same spelling without the fence of that name. Only the simulator
	// uses it, to show what breaks without the fence.
	Without(fence string) Layout
}

// Keeper spells what the guests of an item keep.
type Keeper interface {
	// StateOf is the node that keeps an item's state, with those above it that may be
	// missing, outermost first.
	StateOf(item int) (above []string, path string)
	// OffsetOf is the node that keeps, as well, the key of it that is KeyOffset, with the
	// one above it that may be missing. It is empty where the layout has none.
	OffsetOf(item int) (above, path string)
	// SaveState spells the replacement of an item's state, which was n when it was
	// read, and SaveOffset that of its offset, for the same transaction.
	SaveState(self job.InstanceID, item int, n registry.Node, data []byte) []registry.Op
	SaveOffset(item int, n registry.Node, value []byte) []registry.Op
}

// Sizer tells how large transactions are.
type Sizer interface {
	// MaxNodes is how many nodes of items a transaction may write beside values of
	// ours, and NodeBytes what one of them has as it is sent.
	MaxNodes() int
	NodeBytes() int
}

// Definer spells what a job is.
type Definer interface {
	// Define is the definition of a job.
	Define(c job.Config) definition.Definition
	// Spell is a definition as the registry will hold it. Only values that differ from
	// old, which the registry holds, are written anew.
	Spell(old protocol.Definition, d definition.Definition) (protocol.Definition, error)
	// Defined is the job's definition in a view. Either part is nil if it is missing or
	// cannot be read; the view's faults say which.
	Defined(v *protocol.View) (config definition.Config, module *definition.Module)
	// Keys are the nodes that keep a configuration beside config.
	Keys(config registry.Node) []string
	// ReadDefinition reads the nodes of a configuration, of which config exists, and that of
	// its module. If one cannot be read, the error names its path and what was expected.
	ReadDefinition(config Kept, module registry.Node) (definition.Definition, error)
}

// Decoder turns changed nodes into the protocol's facts.
type Decoder interface {
	// Apply takes one changed node.
	Apply(path string, n registry.Node)
	// View publishes the facts as a new view.
	View() *protocol.View
}

// Kept are the nodes that keep a configuration.
type Kept = jobtree.Kept

// layouts are those that this release speaks, by the name that a job's
// configuration has for them.
var layouts = map[string]func(namespace, name string) jobtree.Job{
	job.Layout1:  v1.NewJob,
	job.Layout20: v20.NewJob,
	job.Layout21: v21.NewJob,
	job.Layout3:  v3.NewJob,
}

// Known reports whether this release speaks a layout.
func Known(layout string) bool { return layouts[layout] != nil }

// New is the spelling of a job in a namespace, which may contain slashes. The layout
// must be known: job.Config.Validate refuses others.
func New(layout, namespace, name string) Layout {
	if !Known(layout) {
		panic(fmt.Sprintf("layout %q of job %q was not validated", layout, name))
	}
	return tree{layouts[layout](namespace, name)}
}

// NewJob is the spelling of a job before any of its nodes was read. It is enough for
// reading; before a write, use Found.
func NewJob(namespace, name string) Layout { return New(job.Layout21, namespace, name) }

// Check reports what a job's layout cannot keep of it. job.Config.Validate reports a
// layout that this release does not speak.
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
