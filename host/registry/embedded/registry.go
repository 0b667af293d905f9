// Package embedded is the registry inside the process: a tree of nodes with sessions and with
// ephemeral and sequential nodes, made durable by a log and snapshots in one directory, or kept
// in memory only.
//
// It is for one machine: it has no network and serves one process, and a session lives until it
// is closed or the process ends. After a restart all old sessions are over and all ephemeral
// nodes gone. Several machines need another adapter.
//
// Flow: Commit applies its ops to the tree and writes the record to the log under one lock,
// notifies followers, and then waits, outside of the lock, for the fdatasync that covers the
// record; one fdatasync serves all waiting commits. A commit does not wait if its effects end
// with its session anyway, or if Options.Relaxed selects it: then it survives the death of the
// process, but not a crash of the machine. Events go through one queue per session, and no
// reply of a session overtakes an event that it depends on. Readers may see a commit a moment
// before it is durable.
//
// When a write or sync of the log fails, for example on a full disk, commits are refused while
// reads continue from memory. The content of the log cannot be trusted any more, so the tree in
// memory is written as a new pair of files, again and again until that succeeds; then commits
// are accepted again.
//
// Files: log-N has every transaction since snapshot-N. When a log has grown enough, log-N+1 is
// begun and snapshot-N+1 is written after it; only then are the older files removed. Open reads
// the newest snapshot and the logs since then, and begins a new pair.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/internal/events"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// ErrClosed is returned by Open on a closed registry.
var ErrClosed = errors.New("registry: closed")

// ErrInUse is in the error of Open for a directory that another process has open.
var ErrInUse = errors.New("in use")

const (
	defaultSnapshotBytes = 16 << 20
	defaultMaxCommit     = 1 << 20

	// opOverhead is the size of an op without its path and data. It is about what ZooKeeper
	// counts, so that a transaction that fits here fits there.
	opOverhead = 48

	// epochShift places the epoch, which counts the openings of the directory, above the
	// counters of revisions and sessions. So neither ever repeats, even if a power loss
	// destroyed the latest ones.
	epochShift = 40
	maxEpoch   = 1<<(63-epochShift) - 1
)

// Options of a registry. The zero value is useful.
type Options struct {
	// Relaxed selects the commits whose reply waits only for the write to the file, not for the
	// disk; nil selects none. A commit with a sequential node always waits for the disk,
	// because its name must never be assigned twice.
	Relaxed func(ops []registry.Op) bool
	// SnapshotBytes is the size of the log at which a new snapshot is written; 0: 16 MiB. If
	// the tree is larger than that, its size counts instead.
	SnapshotBytes int64
	// MaxCommit bounds the size of a commit: path, data and 48 bytes for each op. Above it
	// Commit returns registry.ErrTooLarge. 0: 1 MiB.
	MaxCommit int
	// Logger receives reports of repaired damage and of snapshots that could not be written;
	// nil discards them.
	Logger *slog.Logger
}

// withDefaults returns the options with the default of each that is not set.
func (o Options) withDefaults() Options {
	if o.SnapshotBytes <= 0 {
		o.SnapshotBytes = defaultSnapshotBytes
	}
	if o.MaxCommit <= 0 {
		o.MaxCommit = defaultMaxCommit
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Registry implements registry.Registry. Create one with Open or Memory.
type Registry struct {
	options Options
	journal *journal // nil: in memory only

	// mu guards all fields below, the fields of sessions that say so, and the journal's
	// position. It is held during a write to the log, but never during a sync or a callback,
	// except for the one short sync with which a new log begins.
	mu          sync.Mutex
	tree        *tree.Tree
	sessions    map[registry.SessionID]*session
	followers   map[*session]struct{} // sessions that follow something
	lastSession registry.SessionID
	closed      bool
	readOnly    error // why commits are refused

	work sync.WaitGroup // counts the goroutines of sessions and journal
}

var _ registry.Registry = (*Registry)(nil)

// Memory returns a registry that exists only in memory.
func Memory() *Registry { return MemoryWith(Options{}) }

// MemoryWith is Memory with those options that do not concern files.
func MemoryWith(o Options) *Registry { return newRegistry(o.withDefaults(), tree.New(), 0) }

// Open returns the registry stored in dir, which it creates if necessary and locks until Close.
// It refuses a directory that is in use, or whose files are damaged anywhere but in the end of
// the log that had not reached the disk: see DamageError.
func Open(dir string, o Options) (*Registry, error) {
	d, err := openDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open registry: %w", err)
	}
	r, err := open(d, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open registry: %w", err), d.close())
	}
	return r, nil
}

// open opens the registry in a locked directory, and begins a new pair of files and a new epoch.
func open(d disk, o Options) (*Registry, error) {
	o = o.withDefaults()
	found, err := recoverTree(d, o.Logger)
	if err != nil {
		return nil, err
	}
	epoch := found.epoch + 1
	if epoch > maxEpoch {
		return nil, fmt.Errorf("%s was opened %d times, more than revisions can count", d.path(""), found.epoch)
	}
	found.tree.Advance(int64(epoch) << epochShift)
	r := newRegistry(o, found.tree, epoch)
	j, err := startJournal(r, d, epoch, found.next)
	if err != nil {
		return nil, err
	}
	r.journal = j
	r.work.Go(j.syncLoop)
	r.work.Go(j.snapshotLoop)
	return r, nil
}

// newRegistry returns a registry without files. Ids of its sessions begin with the epoch, so none
// repeats.
func newRegistry(o Options, t *tree.Tree, epoch uint64) *Registry {
	return &Registry{
		options:     o,
		tree:        t,
		sessions:    make(map[registry.SessionID]*session),
		followers:   make(map[*session]struct{}),
		lastSession: registry.SessionID(epoch) << epochShift,
	}
}

// Open starts a session. on must neither block nor call the session: a call waits until on has
// received the events before it. A nil on receives nothing.
func (r *Registry) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	r.lastSession++
	s := &session{
		registry: r,
		id:       r.lastSession,
		events:   events.New(on),
	}
	r.sessions[s.id] = s
	r.work.Go(s.events.Run)
	return s, nil
}

// Close ends every session, syncs the log and releases the directory. It waits until the last
// callback has returned, so it must not be called from a callback. Its error says what may not
// have reached the disk.
func (r *Registry) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	for _, id := range slices.Sorted(maps.Keys(r.sessions)) {
		r.end(r.sessions[id])
	}
	r.mu.Unlock()

	if r.journal != nil {
		close(r.journal.stop)
	}
	r.work.Wait()
	if r.journal == nil {
		return nil
	}
	if err := r.journal.close(); err != nil {
		return fmt.Errorf("close registry: %w", err)
	}
	return nil
}

// Healthy returns nil while the registry can write. After a write or sync of its log has failed,
// Healthy returns that failure until a new log has been started. Until then, reads are answered
// from memory, and every commit fails with registry.ErrReadOnly.
func (r *Registry) Healthy() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readOnly
}

// refuseWrites makes commits fail until the log is replaced, and returns their error. mu must
// be held. The first cause stays.
func (r *Registry) refuseWrites(cause error) error {
	if r.readOnly == nil {
		r.readOnly = fmt.Errorf("%w until its files can be written, which it keeps trying: %w", registry.ErrReadOnly, cause)
		r.options.Logger.Error("the registry cannot write; it keeps trying", "error", cause)
		signal(r.journal.broken)
	}
	return r.readOnly
}

// end ends a session, and deletes its ephemeral nodes. mu must be held. From then on s follows
// nothing, so its only further event is Ended.
func (r *Registry) end(s *session) {
	if s.ended {
		return
	}
	s.ended = true
	delete(r.sessions, s.id)
	delete(r.followers, s)
	if len(r.tree.Ephemerals(s.id)) > 0 {
		now := time.Now().UnixMilli()
		changes := r.tree.EndSession(s.id, now)
		if r.journal != nil && r.readOnly == nil {
			// If this write fails the ephemeral nodes are gone anyway: the snapshot that must
			// follow, or a restart, does not have them.
			record := record{kind: recordEnd, revision: r.tree.Revision(), nowMS: now, owner: s.id}
			_, _ = r.journal.append(record, lazily)
		}
		r.notify(changes)
	}
	s.events.Put(registry.Event{Kind: registry.Ended})
}

// notify queues the changes of a transaction for the sessions that follow the nodes. mu must be
// held. A change of a list of children does not count as a change of the node.
func (r *Registry) notify(changes []tree.Change) {
	for i := range changes {
		path, times := changes[i].Path, 1
		if changes[i].Kind == tree.ChildrenChanged {
			times = 0
		}
		for s := range r.followers {
			// The order of sessions does not matter: the port promises none between them.
			if s.followed(path) {
				s.events.Put(registry.Event{Kind: registry.Changed, Path: path, Changes: times, Gone: changes[i].Kind == tree.Deleted})
			}
		}
	}
}
