// Package registry is the port through which wasmjobd uses a coordination service:
// a tree of small versioned nodes with sessions, ephemeral and sequential nodes,
// recursive watches and atomic transactions, as ZooKeeper defines them. It knows no
// paths and no values; package layout does. Adapters live in sub-packages, and
// registrytest is the suite that each must pass.
//
// Flow: Open returns a Session; after Follow, events arrive on the callback in the
// order of the service; Read returns what a node is; Commit writes.
package registry

import (
	"context"
	"time"
)

// Registry opens sessions on one coordination service.
type Registry interface {
	// Open starts a session. on receives every event of the session in wire
	// order, never two at once; it must not block nor call the session. The
	// event of a change has been handed to on, and on has returned, before any
	// reply returns that could show the change, the reply of the session's own
	// commit included. The last event of a session is Ended.
	Open(ctx context.Context, on func(Event)) (Session, error)
	// Close ends every session and releases the service.
	Close() error
}

// SessionID identifies a session, and is the owner of its ephemeral nodes. Zero
// means no session.
type SessionID int64

// Session is one continuous connection to the service's state. An ended session
// does not come back: Open returns another one. All methods are safe for concurrent
// use.
type Session interface {
	Requests
	ID() SessionID
	// Timeout is the granted session time-out, 0 if sessions have none: the service keeps ephemeral
	// nodes at least this long after the last request that it received.
	Timeout() time.Duration
	// Acknowledged returns when the newest transaction was sent that the service
	// has answered, applied or refused, a Sync included; at first, when the session
	// was requested. Nothing else counts: a replaced leader that does not know it
	// yet answers reads and resumes sessions, although the other servers may have
	// ended them. The session sends such transactions by itself, several within a
	// time-out, so an old value means that the service is silent. A session without
	// time-out cannot be ended by silence: it returns the current time.
	// Acknowledged takes no lock that a request holds.
	Acknowledged() time.Time
	// Follow makes the session receive every change of a node at root or below,
	// from its return until the session ends: an event for each node that is
	// created, set or deleted, and one for the parent of each that is created or
	// deleted, because its list of children has changed. A node at root need not
	// exist.
	Follow(ctx context.Context, root string) error
	// Close ends the session at once: its ephemeral nodes are deleted.
	Close() error
}

// Guarded is a Session of a service that keeps for each node who may do what with it.
type Guarded interface {
	// OpenToAll reports whether callers without credentials may read or change a node,
	// although this session has credentials. An absent node is not open.
	OpenToAll(ctx context.Context, path string) (bool, error)
}

// Requests are the calls that a session offers.
type Requests interface {
	// Commit applies ops as one transaction, all or none. It returns a
	// *ConflictError (errors.Is ErrConflict) if an op was refused, ErrDenied if
	// one is not permitted, ErrUnknown if the outcome could not be learnt,
	// ErrEnded if the session is over and nothing was applied. Any error but
	// ErrUnknown means not applied.
	//
	// While the session is Suspended it waits, as every request does, until the
	// connection is back; it gives up when ctx ends, or after a time that the
	// adapter has set, with an error that means not applied. What had been sent
	// when the connection was lost comes to ErrUnknown.
	Commit(ctx context.Context, ops ...Op) (Receipt, error)
	// Read returns the node at path. An absent node is no error: Node.Exists is
	// false. ErrDenied is one.
	Read(ctx context.Context, path string) (Node, error)
	// Sync returns when the session's later reads see everything that was committed
	// before the call, and when none of its own commits that returned ErrUnknown
	// before the call can be applied any more. It is a transaction that changes
	// nothing, so a server that cannot commit cannot answer it.
	Sync(ctx context.Context) error
	// Persist returns when everything that the session has learned from replies and
	// events is durable, even if the machine loses power.
	Persist(ctx context.Context) error
	// Time is the service's clock.
	Time(ctx context.Context) (time.Time, error)
}

// Node is a node as one read saw it.
type Node struct {
	Exists   bool
	Data     []byte
	Children []string // names, ascending
	Stat     Stat
}

// Stat holds what change detection and version checks compare. Revisions are
// positions in the service's one global order (ZooKeeper: zxid).
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
	// Changed says that the node at Path, which is followed, was created, set or
	// deleted, or that its list of children changed.
	Changed EventKind = iota + 1
	// Suspended: the connection is lost; the session may or may not be alive.
	Suspended
	// Resumed: the connection is back in the same session. What was followed is
	// followed again, and every path must be read again.
	Resumed
	// Ended: the session is over. Nothing follows.
	Ended
)

// Event is a notification of the service.
type Event struct {
	Kind EventKind
	Path string
	// Changes is the number of ops, behind this event, that created, set or deleted
	// the node itself. An event for its list of children has 0. One event is never
	// both.
	Changes int
	// Gone: after those changes the node is not there. Other nodes that were
	// changed with it may still have their events to come.
	Gone bool
}

// Receipt is the result of an applied transaction.
type Receipt struct {
	// Revision of the transaction: the Modified of every node it set. It is
	// known only if the transaction contains a Set (ZooKeeper's client hides
	// it otherwise); else it is 0.
	Revision int64
	// At is the time of the service's clock at the transaction; zero if the service
	// does not say.
	At time.Time
	// Results has one entry for each op.
	Results []Result
}

// Result of one op.
type Result struct {
	Path    string // of a sequential create: the name given by the service
	Version int32  // of a set: the version after it
}
