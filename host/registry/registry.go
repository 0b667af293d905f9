// Package registry is the port through which wasmjobd uses a coordination service: a tree of
// small versioned nodes with sessions, ephemeral and sequential nodes, recursive watches and
// atomic transactions, as ZooKeeper defines them. It gives no meaning to paths and values;
// package layout does. Adapters live in sub-packages, and registrytest is the suite that each
// must pass.
//
// Flow: Open returns a Session; after Follow, events arrive on the callback in the order of the
// service; Read returns a node; Commit writes.
package registry

import (
	"context"
	"time"
)

// Registry opens sessions on one coordination service.
type Registry interface {
	// Open starts a session. on receives every event of the session in the service's order, one
	// at a time. It must neither block nor call the session. No reply that could show a change
	// returns before on has received the event of that change and has returned; this includes
	// the reply of the session's own commit. The last event of a session is Ended.
	Open(ctx context.Context, on func(Event)) (Session, error)
	// Close ends every session and releases the service.
	Close() error
}

// SessionID identifies a session, and is the owner of its ephemeral nodes. Zero means no
// session.
type SessionID int64

// Session is one continuous connection to the service's state. A session that has ended does
// not come back; use Open for a new one. All methods are safe for concurrent use.
type Session interface {
	Requests
	ID() SessionID
	// Timeout returns the granted session time-out, 0 if sessions have none. The service keeps
	// ephemeral nodes at least this long after the last request that it received.
	Timeout() time.Duration
	// Acknowledged returns when the newest transaction was sent that the service has answered,
	// applied or refused, including a Sync; before the first one, when the session was
	// requested. Nothing else counts: a leader that was replaced without knowing it still
	// answers reads and resumes sessions, although the other servers may have ended them. The
	// session sends such transactions by itself, several within a time-out, so an old value
	// means that the service is silent. A session without time-out cannot be ended by silence
	// and returns the current time. Acknowledged takes no lock that a request holds.
	Acknowledged() time.Time
	// Follow makes the session receive every change of a node at root or below, from its return
	// until the session ends: an event for each node that is created, set or deleted, and an
	// event for the parent of each that is created or deleted, because its list of children has
	// changed. The node at root need not exist.
	Follow(ctx context.Context, root string) error
	// Close ends the session at once: its ephemeral nodes are deleted.
	Close() error
}

// Guarded is a Session of a service that has permissions for each node.
type Guarded interface {
	// OpenToAll reports whether callers without credentials may read or change a node, although
	// this session has credentials. It is false for a node that does not exist.
	OpenToAll(ctx context.Context, path string) (bool, error)
}

// Requests are the requests that a session offers.
type Requests interface {
	// Commit applies ops as one transaction, all or none. It returns a *ConflictError
	// (errors.Is ErrConflict) if an op was refused, ErrDenied if an op is not permitted,
	// ErrUnknown if the outcome is unknown, and ErrEnded if the session is over. After any
	// error but ErrUnknown, nothing was applied.
	//
	// While the session is Suspended, Commit waits for the connection, like every request. It
	// gives up when ctx ends, or after a time set by the adapter, with an error that means not
	// applied. If the transaction had been sent when the connection was lost, the error is
	// ErrUnknown.
	Commit(ctx context.Context, ops ...Op) (Receipt, error)
	// Read returns the node at path. If the node does not exist, Node.Exists is false and there
	// is no error. ErrDenied is an error.
	Read(ctx context.Context, path string) (Node, error)
	// Sync returns when the session's later reads see everything that was committed before the
	// call, and when none of its own commits that returned ErrUnknown before the call can be
	// applied any more. It is a transaction that changes nothing, so a server that cannot
	// commit cannot answer it.
	Sync(ctx context.Context) error
	// Persist returns when everything that the session has learned from replies and events is
	// durable, even if the machine loses power.
	Persist(ctx context.Context) error
	// Time returns the time of the service's clock.
	Time(ctx context.Context) (time.Time, error)
}

// Node is the state of a node at one read.
type Node struct {
	Exists   bool
	Data     []byte
	Children []string // names, sorted
	Stat     Stat
}

// Stat holds the values for change detection and version checks. Revisions are positions in the
// service's one global order (ZooKeeper: zxid).
type Stat struct {
	Created         int64 // revision of the creation (czxid)
	Modified        int64 // revision of the last set, or of the creation (mzxid)
	ChildrenChanged int64 // revision of the last change of the list of children (pzxid)
	Version         int32 // number of sets since the creation
	ChildVersion    int32 // number of changes of the list of children
	Owner           SessionID
	ModifiedAt      time.Time
}

// EventKind says what an Event reports.
type EventKind uint8

const (
	// Changed says that the node at Path, which is followed, was created, set or deleted, or
	// that its list of children changed.
	Changed EventKind = iota + 1
	// Suspended: the connection is lost; the session may or may not be alive.
	Suspended
	// Resumed: the connection is back in the same session. The same roots are followed again,
	// and every path must be read again.
	Resumed
	// Ended: the session is over. No event follows.
	Ended
)

// Event is a notification from the service.
type Event struct {
	Kind EventKind
	Path string
	// Changes is the number of ops since the last event that created, set or deleted the node
	// itself. It is 0 in an event for the node's list of children; an event is never for both.
	Changes int
	// Gone: after those changes the node does not exist. Events for other nodes that were
	// changed in the same transaction may still follow.
	Gone bool
}

// Receipt is the result of an applied transaction.
type Receipt struct {
	// Revision of the transaction: the Modified of every node that it set. It is known only if
	// the transaction contains a Set, because ZooKeeper's client otherwise hides it; else it is
	// 0.
	Revision int64
	// At is the service's time of the transaction; zero if the service does not report it.
	At time.Time
	// Results has one entry for each op.
	Results []Result
}

// Result is the result of one op.
type Result struct {
	Path    string // of a sequential create: with the name that the service chose
	Version int32  // of a set: the new version
}
