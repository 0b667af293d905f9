package runner

import (
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// fence ends a member's guests and calls when other members may consider its session
// over. The session's watcher calls it, so it works even if the member's loop hangs. The
// loop learns of it at its next step, before it handles the results.
type fence struct {
	mu      sync.Mutex // guards the fields below: watcher, loop and guests use them
	running map[*fenced]struct{}
	finish  bool   // the job lets its guests finish
	struck  bool   // strike was called, and the loop has not noticed yet
	closed  bool   // the job session is over
	onIdle  func() // called when nothing runs any more; may be nil
}

// fenced is a guest or call that the fence can end.
type fenced struct {
	end   func()
	spare bool // it may go on if the job lets its guests finish
}

// add registers w to be ended when the fence strikes or closes before leave is called. If
// it has struck already and the loop has not noticed yet, or if it is closed, it ends w at
// once.
func (f *fence) add(w *fenced) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running == nil {
		f.running = map[*fenced]struct{}{}
	}
	f.running[w] = struct{}{}
	if f.struck || f.closed {
		f.endOne(w)
	}
	return func() { f.remove(w) }
}

// remove ends the registration of w, which has returned. If it was the last one after
// close, remove calls the function that close was given.
func (f *fence) remove(w *fenced) {
	f.mu.Lock()
	delete(f.running, w)
	idle := f.takeIdle()
	f.mu.Unlock()
	idle()
}

// takeIdle returns the function of close to call now because nothing runs any more, or one
// that does nothing. mu is held; the caller calls the function without it.
func (f *fence) takeIdle() (idle func()) {
	if f.onIdle == nil || len(f.running) > 0 {
		return func() {}
	}
	idle, f.onIdle = f.onIdle, nil
	return idle
}

// endOne ends w unless it may finish. mu is held.
func (f *fence) endOne(w *fenced) {
	if f.closed || !f.finish || !w.spare {
		w.end()
	}
}

// strike ends everything that must not run without a session. What may finish goes on.
func (f *fence) strike() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.struck = true
	for w := range f.running {
		f.endOne(w)
	}
}

// close ends everything that runs, and calls done when all of it has returned.
func (f *fence) close(done func()) {
	f.mu.Lock()
	f.closed, f.onIdle = true, done
	for w := range f.running {
		f.endOne(w)
	}
	idle := f.takeIdle()
	f.mu.Unlock()
	idle()
}

// takeStrike reports whether the fence has struck since the last call. Only the loop
// calls it.
func (f *fence) takeStrike() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	struck := f.struck
	f.struck = false
	return struck
}

// setFinish sets whether the job lets its guests finish.
func (f *fence) setFinish(finish bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finish = finish
}

// finishes reports whether guests may finish although the session is lost.
func (f *fence) finishes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.finish && !f.closed
}

// lease is the lease of a run in a process of its own. It lasts until the fence would
// strike.
type lease struct {
	inbox   *inbox
	session *session.Job
}

// Left implements job.Lease.
func (l lease) Left() (left time.Duration, bounded bool) {
	if l.inbox.fence.finishes() {
		return 0, false
	}
	return l.session.Left()
}

// Lapsed implements job.Lease. The run has ended itself because this process was late, so
// the fence strikes and the loop learns of it.
func (l lease) Lapsed() { l.inbox.HealthChanged(session.Lost) }

// HealthChanged implements session.Listener. The loop checks the session's health. If the
// session is lost, guests are ended without waiting for the loop.
func (b *inbox) HealthChanged(now session.Health) {
	if now == session.Lost {
		b.fence.strike()
	}
	b.put(checkMessage{})
}

// Cut implements session.Loop.
func (b *inbox) Cut(done func()) {
	b.troubles.set(troubleLoop, "the loop of the job stands still; its guests were ended, and its items left to other servers")
	b.fence.close(done)
}

// Turns implements session.Loop. A loop that is not open yet waits for nothing.
func (b *inbox) Turns() (n uint64, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns, b.turn != nil && (len(b.messages) > 0 || b.tick.At != 0)
}

// fenceGuest registers a guest with the fence, which ends it as the core would.
func (m *member) fenceGuest(g *guest) (leave func()) {
	return m.inbox.fence.add(&fenced{spare: true, end: func() {
		g.askToStop(job.StopSessionLost, reason.Of(reason.SessionDoubtful))
		g.kill()
	}})
}
