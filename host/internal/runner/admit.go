package runner

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/internal/workers"
	"github.com/wasmjob/wasmjob/host/job"
)

// guestsPerWorker bounds the guests of a job that says nothing of parallel. Those
// that wait for something outside need no worker, but each has an instance, whose
// memory nobody else gets, and perhaps files and connections.
const guestsPerWorker = 4

// maxBegun is how many guests of the job may have begun at once; 0: any number.
func (r *Runner) maxBegun(c *job.Config) int {
	if c.Parallel > 0 {
		return c.Parallel
	}
	return guestsPerWorker * r.Workers.Size()
}

// poolShares is what the job has of the workers of its server; the loop's. Most jobs
// are at rest, so it is made when a guest begins.
type poolShares struct{ guests, commands *workers.Job }

// newWorker is for a guest that is to begin; nil if nothing bounds how many run. A
// command of the operating system takes no processor from guests, but it is to be
// counted all the same, so it has one of another pool.
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

// admit waits until the guest may begin: until fewer guests of its job have begun
// than may at once, for a worker, and until the session is beyond doubt. Leave
// gives both back.
func (g *guest) admit(ctx context.Context) (leave func(), ok bool) {
	for {
		if !g.trusted(ctx) {
			return nil, false
		}
		if leave, ok = g.place(ctx); !ok || g.member.session.Health() == session.Trusted {
			return leave, ok
		}
		leave() // it came late; those that run may need it meanwhile
	}
}

// lookAgain is how often a guest looks whether the session is beyond doubt.
const lookAgain = 100 * time.Millisecond

// trusted waits until the session is beyond doubt. The core sees to that for runs
// that it begins, but the wait for a place can outlast the session, and a job that
// lets its guests finish does not end those that wait.
func (g *guest) trusted(ctx context.Context) bool {
	for g.member.session.Health() != session.Trusted {
		again := time.NewTimer(lookAgain)
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

// place waits for what bounds how many guests run.
func (g *guest) place(ctx context.Context) (leave func(), ok bool) {
	if g.parallel != nil {
		select {
		case g.parallel <- struct{}{}:
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
		if g.parallel != nil {
			<-g.parallel
		}
	}
	if g.worker != nil && !g.worker.AcquireFirst(ctx, g.asked) || ctx.Err() != nil || g.stopReason() != job.Continue {
		leave()
		return nil, false
	}
	return leave, true
}
