package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// syncWithin bounds how long a record stays unsynced if no commit waits for it.
const syncWithin = 50 * time.Millisecond

// maxGather bounds how often a sync yields to other goroutines. A yield costs less than a
// microsecond if none is ready.
const maxGather = 32

// urgency says whether the reply to a record waits for the disk.
type urgency bool

const (
	lazily   urgency = false
	urgently urgency = true
)

// journal is the log of a registry with its snapshots.
type journal struct {
	registry *Registry
	disk     disk
	epoch    uint64
	syncs    atomic.Int64 // number of syncs of the log, for the benchmark
	appended atomic.Int64 // number of records

	// Signals to the loops. Each channel holds one signal; a second would add nothing.
	urgent, lazy, full, broken chan struct{}
	stop                       chan struct{} // closed when nothing can be appended any more

	// switching is held during a sync of the log and while a new log replaces it, so that no
	// sync meets a closed file. It is locked before the registry's mu.
	switching sync.Mutex

	// next is the log that will replace a failed log: empty, durable and not yet in use. Only
	// the snapshot loop uses it.
	next file

	// Guarded by the registry's mu.
	file    file
	seq     uint64 // number of the log
	size    int64
	synced  int64 // durable part of size
	limit   int64 // size at which a snapshot is written
	buffer  []byte
	batch   *batch // the records since the last sync began
	dirty   bool   // batch has records
	running *batch // the batch that is being synced
	failed  error  // the first failed sync of this log
}

// batch stands for the records that one sync makes durable.
type batch struct {
	done chan struct{}
	err  error // valid once done is closed
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// wait returns nil when the batch is durable, or else why it may not be. A nil batch waits for
// nothing.
func (b *batch) wait(ctx context.Context) error {
	if b == nil {
		return nil
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish ends the wait for a batch, with the result of its sync.
func (b *batch) finish(err error) {
	b.err = err
	close(b.done)
}

// startJournal writes the pair of files number seq for the registry's tree, and removes the
// files that it replaces.
func startJournal(r *Registry, d disk, epoch, seq uint64) (*journal, error) {
	log, err := createLog(d, seq)
	if err != nil {
		return nil, err
	}
	snapshot := encodeSnapshot(r.tree, seq, epoch)
	if err := writeSnapshot(d, seq, snapshot); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := removeBefore(d, seq); err != nil {
		r.options.Logger.Warn("old registry files cannot be removed", "error", err)
	}
	return &journal{
		registry: r,
		disk:     d,
		epoch:    epoch,
		urgent:   make(chan struct{}, 1),
		lazy:     make(chan struct{}, 1),
		full:     make(chan struct{}, 1),
		broken:   make(chan struct{}, 1),
		stop:     make(chan struct{}),
		file:     log,
		seq:      seq,
		size:     logHeader,
		synced:   logHeader,
		limit:    max(r.options.SnapshotBytes, int64(len(snapshot))),
		batch:    newBatch(),
	}, nil
}

// append writes r to the log. mu must be held. If when is urgent, it returns the batch to wait
// for; otherwise nil, since nobody waits. After an error r is not in the log, unless the error is
// registry.ErrUnknown, and the registry takes no more writes.
func (j *journal) append(r record, when urgency) (*batch, error) {
	if err := j.write(r); err != nil {
		return nil, err
	}
	j.dirty = true
	j.appended.Add(1)
	if j.size > j.limit {
		signal(j.full)
	}
	if when == lazily {
		signal(j.lazy)
		return nil, nil
	}
	signal(j.urgent)
	return j.batch, nil
}

// write appends r to the log. mu must be held. Its errors are those of append.
func (j *journal) write(r record) error {
	j.buffer = appendFrame(j.buffer[:0], r, j.seq, j.size)
	if n, err := j.file.Write(j.buffer); err != nil {
		err = j.registry.refuseWrites(fmt.Errorf("append to the log: %w", err))
		// The next start would cut an incomplete record, but accept a complete one.
		if cut := j.file.Truncate(j.size); cut != nil && n >= len(j.buffer) {
			err = fmt.Errorf("%w: %w", registry.ErrUnknown, errors.Join(err, cut))
		}
		return err
	}
	j.size += int64(len(j.buffer))
	return nil
}

// flush returns the batch after which everything appended is durable; nil if it is durable
// already. mu must be held.
func (j *journal) flush() *batch {
	if j.dirty {
		signal(j.urgent)
		return j.batch
	}
	return j.running
}

// signal wakes the loop that waits for c. If a signal is there already, it does nothing.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// syncLoop syncs when a commit waits, syncWithin after any other write, and once more at the
// end.
func (j *journal) syncLoop() {
	var late <-chan time.Time // when to sync what was written lazily; nil: there is nothing
	for {
		select {
		case <-j.stop:
			j.sync()
			return
		case <-j.lazy:
			if late == nil {
				late = time.After(syncWithin)
			}
			continue
		case <-j.urgent:
			j.gather()
		case <-late:
		}
		late = nil
		j.sync()
	}
}

// gather lets other goroutines run as long as they add records. Commits that the last sync has
// released are often followed by another commit at once; without gather all of these would miss
// the sync that begins now, and every sync would serve only half of the writers.
func (j *journal) gather() {
	before := j.appended.Load()
	for range maxGather {
		runtime.Gosched()
		now := j.appended.Load()
		if now == before {
			return
		}
		before = now
	}
}

// sync is syncFile for callers that do not hold switching.
func (j *journal) sync() {
	j.switching.Lock()
	defer j.switching.Unlock()
	j.syncFile()
}

// syncFile makes everything appended so far durable. switching must be held.
func (j *journal) syncFile() {
	mu := &j.registry.mu
	mu.Lock()
	b, err := j.beginSync()
	log, size := j.file, j.size
	mu.Unlock()
	if b == nil {
		return
	}
	if err == nil {
		j.syncs.Add(1)
		err = log.Sync()
	}
	mu.Lock()
	if err = j.endSync(err); err == nil {
		j.noteSynced(size)
	}
	mu.Unlock()
	b.finish(err)
}

// noteSynced appends a note that the log is durable up to size. mu must be held. No commit
// waits for the note, so it needs no sync: if it is missing, recovery attributes damage in the
// synced part to a power loss, as it must.
func (j *journal) noteSynced(size int64) {
	j.synced = size
	if j.registry.readOnly != nil {
		return
	}
	_ = j.write(record{kind: recordSynced, synced: size}) // an error makes the registry read-only
}

// beginSync begins the sync of all records so far, and returns their batch; nil if there are
// none. mu must be held. It also returns the error of an earlier sync: the kernel reports a page
// that it could not write only once, so a later sync proves nothing.
func (j *journal) beginSync() (*batch, error) {
	if !j.dirty {
		return nil, j.failed
	}
	j.running = j.batch
	j.batch = newBatch()
	j.dirty = false
	return j.running, j.failed
}

// endSync ends the sync that beginSync began, and returns the result for the waiting commits.
// mu must be held.
func (j *journal) endSync(err error) error {
	j.running = nil
	if err != nil && j.failed == nil {
		j.failed = fmt.Errorf("sync %s: %w", j.disk.path(logName(j.seq)), err)
		_ = j.registry.refuseWrites(j.failed)
	}
	return j.failed
}

// snapshotLoop writes a snapshot whenever the log has grown enough, and a new pair of files
// when the log has failed.
func (j *journal) snapshotLoop() {
	for {
		select {
		case <-j.stop:
			return
		case <-j.broken:
			j.mend()
			continue
		case <-j.full:
		}
		if !j.due() {
			continue // the signal came before the last snapshot
		}
		if err := j.snapshot(); err != nil {
			// The log and the registry remain usable: try again later.
			j.registry.options.Logger.Error("the registry cannot write a snapshot", "error", err)
			j.registry.mu.Lock()
			j.limit = j.size + j.registry.options.SnapshotBytes
			j.registry.mu.Unlock()
		}
	}
}

// due reports whether the log is large enough for a new snapshot.
func (j *journal) due() bool {
	j.registry.mu.Lock()
	defer j.registry.mu.Unlock()
	return j.size > j.limit
}

// snapshot begins a new log, writes the tree as it is at that moment, and removes the files
// that these replace. Only one goroutine may call it.
func (j *journal) snapshot() error {
	j.registry.mu.Lock()
	seq := j.seq + 1
	j.registry.mu.Unlock()
	next, err := createLog(j.disk, seq)
	if err != nil {
		return err
	}
	body, err := j.switchTo(next, seq)
	if err != nil {
		return errors.Join(err, next.Close())
	}
	if err := writeSnapshot(j.disk, seq, body); err != nil {
		return err
	}
	return removeBefore(j.disk, seq)
}

// switchTo replaces the current log, which is complete and durable then, by next. It returns
// the snapshot of that moment.
func (j *journal) switchTo(next file, seq uint64) ([]byte, error) {
	j.switching.Lock()
	defer j.switching.Unlock()
	j.syncFile() // so that little is left to sync with mu held
	r := j.registry
	r.mu.Lock()
	b, err := j.beginSync()
	if b == nil && j.size > j.synced {
		b = newBatch() // no commit waits, but a note may be unsynced
	}
	if b != nil {
		if err == nil {
			j.syncs.Add(1)
			err = j.file.Sync()
		}
		err = j.endSync(err)
		defer func() { b.finish(err) }()
	}
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	old := j.file
	snapshot := encodeSnapshot(r.tree, seq, j.epoch)
	j.file, j.seq, j.size, j.synced = next, seq, logHeader, logHeader
	j.limit = max(r.options.SnapshotBytes, int64(len(snapshot)))
	r.mu.Unlock()
	if err := old.Close(); err != nil {
		r.options.Logger.Warn("closing a synced log failed", "error", err)
	}
	return snapshot, nil
}

// close releases the files. The loops must have ended.
func (j *journal) close() error {
	err := j.failed
	if j.next != nil {
		err = errors.Join(err, j.next.Close())
	}
	return errors.Join(err, j.file.Close(), j.disk.close())
}
