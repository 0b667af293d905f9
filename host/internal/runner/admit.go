package runner

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/internal/workers"
	"github.com/wasmjob/wasmjob/host/job"
)

// guestsPerWorker bounds the guests of a job that does not set parallel. Guests that
// wait for something outside need no worker, but each keeps an instance with its
// memory, and perhaps files and connections.
const guestsPerWorker = 4

// maxBegun returns how many guests of the job may have begun at once; 0 means any number.
func (r *Runner) maxBegun(c *job.Config) int {
	if c.Parallel > 0 {
		return c.Parallel
	}
	return guestsPerWorker * r.Workers.Size()
}

// poolShares are the job's shares of the server's pools. They are made when a guest
// begins, since most jobs are idle.
type poolShares struct{ guests, commands *workers.Job }

// newWorker returns the worker of a guest of a job with configuration c that is about to
// begin; nil if the number of guests is unbounded. A command of the operating system
// computes outside this process, so its worker comes from another pool.
func (r *Runner) newWorker(c *job.Config) *workers.Worker {
	of, pool := &r.shares.guests, r.Workers
	if c.Command != "" {
		of, pool = &r.shares.commands, r.Commands
	}
	if pool == nil {
		return nil
	}
	if *of == nil {
		*of = pool.Job()
	}
	return (*of).Worker()
}

// admit waits until the guest may begin: for a place among the guests of its job, for a
// worker, and for a trusted session. leave gives back the place and the worker. ok is false
// if the guest was asked to stop or ctx has ended; then there is nothing to give back.
func (g *guest) admit(ctx context.Context) (leave func(), ok bool) {
	for {
		if !g.awaitTrusted(ctx) {
			return nil, false
		}
		if leave, ok = g.awaitPlace(ctx); !ok || g.member.session.Health() == session.Trusted {
			return leave, ok
		}
		leave() // the session became doubtful during the wait; guests that run may need the place
	}
}

// trustCheckTime is how often a waiting guest checks whether the session is trusted.
const trustCheckTime = 100 * time.Millisecond

// awaitTrusted waits until the session is trusted, and returns false if the guest has to
// stop first. The core begins runs only in a trusted session, but the session may become
// doubtful while a guest waits for a place, and a job whose guests may finish does not end
// guests that wait.
func (g *guest) awaitTrusted(ctx context.Context) bool {
	for g.member.session.Health() != session.Trusted {
		again := time.NewTimer(trustCheckTime)
		select {
		case <-again.C:
		case <-g.asked:
			again.Stop()
			return false
		case <-ctx.Done():
			again.Stop()
			return false
		}
	}
	return true
}

// awaitPlace waits for a place among the guests of the job, and for a worker. Its results
// are those of admit.
func (g *guest) awaitPlace(ctx context.Context) (leave func(), ok bool) {
	if g.places != nil {
		select {
		case g.places <- struct{}{}:
		case <-g.asked:
			return nil, false
		case <-ctx.Done():
			return nil, false
		}
	}
	leave = func() {
		if g.worker != nil {
			g.worker.Release()
		}
		if g.places != nil {
			<-g.places
		}
	}
	// A guest that got both may have been asked to stop at the same moment.
	if g.worker != nil && !g.worker.AcquireFirst(ctx, g.asked) || ctx.Err() != nil || g.stopReason() != job.Continue {
		leave()
		return nil, false
	}
	return leave, true
}
