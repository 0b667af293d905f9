package embedded

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

// memDisk is a disk in memory that records every step, so that a test can restore its state
// after any byte.
type memDisk struct {
	mu    sync.Mutex
	now   image
	steps []step
	// fault, if set, is called before each step and may make it fail; written is how many bytes
	// of a write happen anyway.
	fault func(s step) (written int, err error)
}

// image is the state of a disk. durable has the contents and names that a power loss cannot
// destroy.
type image struct {
	files, durable map[string]*memFile
}

type memFile struct {
	data   []byte
	synced int
	// lost: a sync failed. The kernel reports that once and then considers the data written: no
	// later sync brings it to the disk.
	lost bool
}

type stepKind string

const (
	stepCreate   stepKind = "create"
	stepWrite    stepKind = "write"
	stepSync     stepKind = "sync"
	stepSyncLost stepKind = "sync that failed"
	stepTruncate stepKind = "truncate"
	stepRename   stepKind = "rename"
	stepRemove   stepKind = "remove"
	stepSyncDir  stepKind = "sync directory"
	stepAck      stepKind = "acknowledge" // added by the test
)

type step struct {
	kind   stepKind
	name   string
	to     string
	data   []byte
	size   int64
	ack    int64 // revision
	waited bool
}

func newMemDisk() *memDisk { return &memDisk{now: newImage()} }

func newImage() image {
	return image{files: map[string]*memFile{}, durable: map[string]*memFile{}}
}

// apply applies s; of a write, only the first cut bytes.
func (m *image) apply(s step, cut int) {
	f := m.files[s.name]
	switch s.kind {
	case stepCreate:
		m.files[s.name] = &memFile{}
	case stepWrite:
		f.data = append(f.data, s.data[:cut]...)
	case stepSync:
		if !f.lost {
			f.synced = min(int(s.size), len(f.data))
		}
	case stepSyncLost:
		f.lost = true
	case stepTruncate:
		f.data = f.data[:s.size]
		f.synced = min(f.synced, int(s.size))
	case stepRename:
		delete(m.files, s.name)
		m.files[s.to] = f
	case stepRemove:
		delete(m.files, s.name)
	case stepSyncDir:
		m.durable = maps.Clone(m.files)
	}
}

// afterKill returns what is left when the process dies: everything written.
func (m *image) afterKill() *memDisk {
	d := newMemDisk()
	for name, f := range m.files {
		d.now.files[name] = &memFile{data: slices.Clone(f.data)}
	}
	return d
}

// afterPowerLoss returns what may be left when the machine crashes: everything synced, and any
// part of the rest that the disk had written. A part that is missing may lie before one that
// was written.
func (m *image) afterPowerLoss(rng *rand.Rand) *memDisk {
	d := newMemDisk()
	files := m.durable
	if rng.IntN(2) == 0 {
		files = m.files
	}
	for name, f := range files {
		kept := f.synced + rng.IntN(len(f.data)-f.synced+1)
		data := slices.Clone(f.data[:kept])
		if kept > f.synced && rng.IntN(3) > 0 {
			hole := data[f.synced+rng.IntN(kept-f.synced):]
			clear(hole[:1+rng.IntN(len(hole))])
		}
		d.now.files[name] = &memFile{data: data}
	}
	return d
}

// do records and applies a step, unless fault makes it fail.
func (d *memDisk) do(s step) (int, error) {
	d.mu.Lock()
	fault := d.fault
	if s.kind == stepSync {
		// A sync need not cover data written during it.
		s.size = int64(len(d.now.files[s.name].data))
	}
	d.mu.Unlock()
	cut, err := len(s.data), error(nil)
	if fault != nil { // without mu, because it may block
		cut, err = fault(s)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && s.kind == stepSync {
		s.kind = stepSyncLost
	}
	if err == nil || s.kind == stepWrite || s.kind == stepSyncLost {
		d.now.apply(s, cut)
		s.data = slices.Clone(s.data[:cut])
		d.steps = append(d.steps, s)
	}
	return cut, err
}

func (d *memDisk) inject(fault func(s step) (int, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = fault
}

// ack records that the commit with a revision was acknowledged.
func (d *memDisk) ack(revision int64, waited bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = append(d.steps, step{kind: stepAck, ack: revision, waited: waited})
}

// done returns the steps so far; a sync in the background may continue.
func (d *memDisk) done() []step {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.steps)
}

func (d *memDisk) count(kind stepKind) int {
	n := 0
	for _, s := range d.done() {
		if s.kind == kind {
			n++
		}
	}
	return n
}

func (d *memDisk) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.now.files))
}

func (d *memDisk) contents(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.now.files[name].data)
}

func (d *memDisk) replace(name string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now.files[name] = &memFile{data: data, synced: len(data)}
}

func (d *memDisk) copy() *memDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now.afterKill()
}

func (d *memDisk) path(name string) string { return "/mem/" + name }

func (d *memDisk) list() ([]string, error) { return d.names(), nil }

func (d *memDisk) read(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.now.files[name]
	if f == nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(f.data), nil
}

func (d *memDisk) create(name string) (file, error) {
	if _, err := d.do(step{kind: stepCreate, name: name}); err != nil {
		return nil, err
	}
	return &memHandle{d, name}, nil
}

func (d *memDisk) rename(from, to string) error {
	_, err := d.do(step{kind: stepRename, name: from, to: to})
	return err
}

func (d *memDisk) remove(name string) error {
	_, err := d.do(step{kind: stepRemove, name: name})
	return err
}

func (d *memDisk) sync() error {
	_, err := d.do(step{kind: stepSyncDir})
	return err
}

func (d *memDisk) close() error { return nil }

// memHandle is an open file of a memDisk.
type memHandle struct {
	disk *memDisk
	name string
}

func (h *memHandle) Write(b []byte) (int, error) {
	n, err := h.disk.do(step{kind: stepWrite, name: h.name, data: b})
	if n < len(b) && err == nil {
		err = errors.New("short write")
	}
	return n, err
}

func (h *memHandle) Sync() error {
	_, err := h.disk.do(step{kind: stepSync, name: h.name})
	return err
}

func (h *memHandle) Truncate(size int64) error {
	_, err := h.disk.do(step{kind: stepTruncate, name: h.name, size: size})
	return err
}

func (h *memHandle) Close() error { return nil }
