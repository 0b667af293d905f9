package sandbox

import "time"

// workerGrace is how long a waiting run keeps its worker. Most answers arrive
// sooner, and waiting in the queue again would cost more.
const workerGrace = time.Millisecond

// releaseWorker is called before the run waits for something other than a processor:
// the guest's sleep, an answer from outside, or memory. If the wait is longer than
// workerGrace, the run's worker is released for other runs. resume, called after the
// wait, acquires a worker again. If the run is over by then, it gets none, and the
// guest ends at its next step.
func (r *run) releaseWorker() (resume func()) {
	w := r.worker
	if w == nil {
		return func() {}
	}
	released := make(chan struct{})
	t := time.AfterFunc(workerGrace, func() {
		w.Release()
		close(released)
	})
	return func() {
		if t.Stop() {
			return
		}
		<-released
		_ = w.Acquire(r.ctx) // fails only if the run is over
	}
}

// acquireWorker acquires a worker for a subtask, which runs concurrently with others.
// r is the subtask's own copy of its run. The returned function releases the worker. If
// the run is over, the subtask gets no worker, and ends at its first step.
func (r *run) acquireWorker() (release func()) {
	if r.worker == nil {
		return func() {}
	}
	w := r.worker.Fork()
	r.worker = w
	_ = w.Acquire(r.ctx) // fails only if the run is over
	return w.Release
}
