package runner

import (
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// fence ends what a member has running when its session can be over elsewhere,
// whatever the member's loop does. The session's watcher calls it. The loop
// learns of it with its next step, before it reads what came of it.
type fence struct {
	mu      sync.Mutex // guards what follows: watcher, loop and guests meet here
	running map[*fenced]struct{}
	finish  bool   // the job lets its guests finish
	struck  bool   // and the loop has not learnt of it
	closed  bool   // for good: the job session is over
	idle    func() // called when nothing runs any more; nil: nobody waits for that
}

// fenced is what runs.
type fenced struct {
	end   func()
	spare bool // if the job lets its guests finish
}

// add lets end be called when the time has come, until leave is. If it has come
// already, and the loop does not know yet, that is now.
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

func (f *fence) remove(w *fenced) {
	f.mu.Lock()
	delete(f.running, w)
	idle := f.takeIdle()
	f.mu.Unlock()
	idle()
}

// takeIdle is what is to be called because nothing runs any more. mu is held, as in
// end.
func (f *fence) takeIdle() (idle func()) {
	if f.idle == nil || len(f.running) > 0 {
		return func() {}
	}
	idle, f.idle = f.idle, nil
	return idle
}

func (f *fence) endOne(w *fenced) {
	if f.closed || !f.finish || !w.spare {
		w.end()
	}
}

// strike ends what must not outlive the session.
func (f *fence) strike() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.struck = true
	for w := range f.running {
		f.endOne(w)
	}
}

// close ends all that runs, and calls done when that is over.
func (f *fence) close(done func()) {
	f.mu.Lock()
	f.closed, f.idle = true, done
	for w := range f.running {
		f.endOne(w)
	}
	idle := f.takeIdle()
	f.mu.Unlock()
	idle()
}

// takeStrike tells the loop whether the fence has struck since it asked last.
func (f *fence) takeStrike() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	struck := f.struck
	f.struck = false
	return struck
}

// setFinish says whether the job lets its guests finish.
func (f *fence) setFinish(finish bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finish = finish
}

// finishes tells whether the job lets its guests finish.
func (f *fence) finishes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.finish && !f.closed
}

// lease is that of a run which goes on beside this process: it lasts until the fence
// would strike.
type lease struct {
	inbox   *inbox
	session *session.Job
}

// Left is part of job.Lease.
func (l lease) Left() (left time.Duration, bounded bool) {
	if l.inbox.fence.finishes() {
		return 0, false
	}
	return l.session.Left()
}

// Lapsed is part of job.Lease. This process was late: what the fence would have
// ended has ended.
func (l lease) Lapsed() { l.inbox.HealthChanged(session.Lost) }

// Doubted is part of session.Listener. The loop is to look how far the session
// can be trusted; guests do not wait for that when it is lost.
func (b *inbox) HealthChanged(now session.Health) {
	if now == session.Lost {
		b.fence.strike()
	}
	b.put(checkMessage{})
}

// Cut is part of session.Loop.
func (b *inbox) Cut(done func()) {
	b.troubles.set(troubleLoop, "the loop of the job stands still; its guests were ended, and its items left to other servers")
	b.fence.close(done)
}

// Turns is part of session.Loop.
func (b *inbox) Turns() (n uint64, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns, b.turn != nil && (len(b.messages) > 0 || b.tick.At != 0)
}

// fenceGuest lets the fence end a guest, as the core would.
func (m *member) fenceGuest(g *guest) (leave func()) {
	return m.inbox.fence.add(&fenced{spare: true, end: func() {
		g.askToStop(job.StopSessionLost, reason.Of(reason.SessionDoubtful))
		g.kill()
	}})
}
