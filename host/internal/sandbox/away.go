package sandbox

import "time"

// workerGrace is how long a run may wait and keep its worker: for most answers it is
// cheaper than to stand in line once more.
const workerGrace = time.Millisecond

// releaseWorker is called before the run waits for something that is not a processor: the
// guest's sleep, an answer from outside, memory that others have. If that takes
// longer than a moment, others get its worker. What it gives is called after the
// wait, and takes one again; if the run is over by then it has none, and the guest
// ends at its next step.
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
		_ = w.Acquire(r.ctx) // else the run is over
	}
}

// acquireWorker takes a worker for a part of a run, which goes on at the same time as the
// others. What it gives is called when the part has ended. A part of a run that is
// over gets none, and ends at its first step.
func (r *run) acquireWorker() (release func()) {
	if r.worker == nil {
		return func() {}
	}
	w := r.worker.Fork()
	r.worker = w
	_ = w.Acquire(r.ctx) // else the run is over
	return w.Release
}
