package layout

import (
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Layout spells one job as some releases of ElasticJob do. Only a layout knows
// paths and values.
type Layout interface {
	Paths
	Reader
	Inspector
	Writer
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
	// Nodes are where the definition is, and the members from whom its modules may be
	// had.
	Nodes() (config, module, members string)
	// StateOf is the node that keeps an item's state, with those above it that may be
	// missing, outermost first.
	StateOf(item int) (above []string, path string)
}

// Reader makes views of nodes.
type Reader interface {
	// Watched lists the nodes from which a mirror of the job starts, by their names
	// below the job's own, which is the first and has none. Nobody changes the list.
	Watched() []string
	// Below is the mirror's rule of what lies below a node, by names as in Watched.
	Below(name string, n registry.Node) []string
	// Outline lists the nodes from which one learns how the job is without looking at
	// each of its items, and Definers those of Nodes, by names as in Watched.
	Outline() []string
	Definers() []string
	// ItemNode is the name of the node above the marks of an item. It is not
	// followed: it changes with each of them.
	ItemNode(i int) string
	// RunningMark tells whether a name is that of a mark of a run.
	RunningMark(name string) bool
	// NewDecoder is a decoder that has seen no node. It shares records with others;
	// nil: with nobody.
	NewDecoder(records spelling.Records) Decoder
}

// Inspector says of nodes what people ask for.
type Inspector interface {
	// Began tells which item somebody has marked as running, if that is what an event
	// says; the mark may be gone again.
	Began(e registry.Event) (item int, ok bool)
	// UnheldMarks names the marks of items that no session holds.
	UnheldMarks(v *protocol.View) []string
	// Masked is the value at a path as strangers may see it.
	Masked(path string, data []byte) string
}

// Writer makes transactions of what was decided.
type Writer interface {
	// Encode spells a mutation, decided on view v, as one transaction. Its last
	// operation tells the revision.
	Encode(m protocol.Mutation, v *protocol.View) []registry.Op
	// SaveState spells the replacement of an item's state, which was n when it was
	// read.
	SaveState(self job.InstanceID, item int, n registry.Node, data []byte) []registry.Op
	// Occupied tells which item's node could not be deleted because there is
	// something below it, if that is why a transaction was refused. It counts from
	// 1; 0 is none.
	Occupied(err error) int
	// MaxNodes is how many nodes of items a transaction may write beside values of
	// ours, and NodeBytes what one of them has as it is sent.
	MaxNodes() int
	NodeBytes() int
	// Without is the same spelling, but for the fence of that name. Only the
	// simulator uses it, to show what breaks then.
	Without(fence string) Layout
}

// Definer spells what a job is.
type Definer interface {
	// Define is the definition of a job.
	Define(c job.Config) definition.Definition
	// Spell is what the registry is to hold of a definition. What it holds, in old,
	// stays as it is written, but for the values that are to be others.
	Spell(old protocol.Definition, d definition.Definition) (protocol.Definition, error)
	// Defined is what a view says of the job. Either is nil if it cannot be read, of
	// which the view's faults tell, or is not there.
	Defined(v *protocol.View) (config definition.Config, module *definition.Module)
	// ReadDefinition reads both nodes, which are there. What it says of one that
	// cannot be read names its path and what was expected.
	ReadDefinition(config, module registry.Node) (definition.Definition, error)
}

// Decoder turns changed nodes into the protocol's facts.
type Decoder interface {
	// Apply takes one changed node.
	Apply(path string, n registry.Node)
	// View publishes the facts as a new view.
	View() *protocol.View
}

// layouts are those that this release speaks, by the name that a job's
// configuration has for them.
var layouts = map[string]func(namespace, name string) jobtree.Job{
	job.Layout21: v21.NewJob,
}

// Known tells whether this release speaks a layout.
func Known(layout string) bool { return layouts[layout] != nil }

// New is the spelling of a job in a namespace, which may contain slashes. A
// configuration that names another layout than those there are does not pass
// job.Config.Validate.
func New(layout, namespace, name string) Layout {
	if !Known(layout) {
		panic(fmt.Sprintf("layout %q of job %q was not validated", layout, name))
	}
	return tree{layouts[layout](namespace, name)}
}

// NewJob is the spelling of a job of which nothing has been read yet. It is enough to
// look at it; who is about to write asks Found.
func NewJob(namespace, name string) Layout { return New(job.Layout21, namespace, name) }

// Check says what of a job its layout cannot keep. Of a layout that this release
// does not speak job.Config.Validate tells.
func Check(c job.Config) error {
	if !Known(c.Layout) {
		return nil
	}
	_, err := New(c.Layout, "", c.Name).Define(c).Config.Object()
	return err
}

// JobsIn is the node whose children are the jobs of a namespace.
func JobsIn(namespace string) string { return "/" + strings.Trim(namespace, "/") }

// Relaxed tells whether a transaction of ours may be acknowledged before it is
// on the disk. Of what kind a node is, its path tells: those that a layout does not
// know are not relaxed.
func Relaxed(ops []registry.Op) bool { return jobtree.Relaxed(ops) }

// tree is a job in whatever layout.
type tree struct{ jobtree.Job }

func (t tree) NewDecoder(records spelling.Records) Decoder { return t.Job.NewDecoder(records) }
func (t tree) Without(fence string) Layout                 { return tree{t.Job.Without(fence)} }
