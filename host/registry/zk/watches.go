package zk

import "sync"

// watches knows which paths of a session are watched. The client library could
// do it, but it keeps a channel for each time that a watch was set, forgets
// none before it has fired, and sets them all again on a new connection, while
// the port's watches are spent with the connection. So it is never asked for a
// watch: wire sets the flag in the requests of the paths named here.
//
// The service needs two watches for what is one here, and a change can spend
// one and leave the other. What the other says later is dropped.
type watches struct {
	mu sync.Mutex // guards at
	at map[string]watch
}

// watch is the state of one path. While a read is under way that is to arm it,
// nobody can tell whether an event that comes is of a change which the read
// will show. So the event only spends what was armed before, and is counted:
// the read begins anew.
type watch struct {
	reads int32 // under way
	armed bool
	count uint32 // events while there were reads
}

func newWatches() *watches { return &watches{at: make(map[string]watch)} }

// begin says that a read begins that is to arm the watch of path.
func (w *watches) begin(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.at[path]
	one.reads++
	w.at[path] = one
}

// count is how many events of path there were, during a read.
func (w *watches) count(path string) uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at[path].count
}

// arm ends a read and arms the watch, unless there were events since count.
func (w *watches) arm(path string, count uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.at[path]
	if one.count != count {
		return false
	}
	one.reads--
	one.armed = true
	w.put(path, one)
	return true
}

// drop ends a read that does not arm the watch.
func (w *watches) drop(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.at[path]
	one.reads--
	w.put(path, one)
}

func (w *watches) put(path string, one watch) {
	if one.reads == 0 {
		one.count = 0
	}
	if one == (watch{}) {
		delete(w.at, path)
		return
	}
	w.at[path] = one
}

// reading tells whether a request for path is to set a watch.
func (w *watches) reading(path []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at[string(path)].reads > 0
}

// fire takes an event of path: it tells whether the watch was armed, and
// spends it.
func (w *watches) fire(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one, ok := w.at[path]
	if !ok {
		return false
	}
	armed := one.armed
	one.armed = false
	one.count++
	w.put(path, one)
	return armed
}

// spend spends all.
func (w *watches) spend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, one := range w.at {
		one.armed = false
		w.put(path, one)
	}
}
