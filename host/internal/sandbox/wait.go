package sandbox

import (
	"context"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// stopTick is how often a run that waits asks whether it should stop: there is
// a function for that, and no channel.
const stopTick = 50 * time.Millisecond

// stopCode is what a function that waits answers when the run should stop, or
// 0 if it may go on. A streaming job that is disabled, or whose items are dealt
// out anew, ends between two batches, so what it does within one goes on.
func (r *run) stopCode() int32 {
	switch r.stopReason() {
	case job.Continue:
	case job.StopDeadline:
		return abi.ErrTimeout
	case job.StopDisabled, job.StopResharding:
		if c := &r.facts.call.Config; c.Kind != job.Dataflow || !c.Streaming {
			return abi.ErrCancelled
		}
	default:
		return abi.ErrCancelled
	}
	if r.ctx.Err() != nil {
		return abi.ErrCancelled
	}
	return 0
}

// untilNextCheck is how long it is until the run is next to be asked for stopCode; false
// if only its context can say that.
func (r *run) untilNextCheck() (time.Duration, bool) {
	d, known := time.Duration(0), false
	if r.facts.call.Why != nil {
		d, known = stopTick, true
	}
	if !r.deadline.IsZero() {
		// A clock that is read a little later is past the deadline for sure.
		if left := max(time.Until(r.deadline), 0) + time.Microsecond; !known || left < d {
			d, known = left, true
		}
	}
	return d, known
}

// waitCancellable does something that waits, and cancels it as soon as the run should
// stop. The context of the run has to cancel it, too.
func (r *run) waitCancellable(cancel context.CancelFunc, do func()) {
	defer r.releaseWorker()()
	d, known := r.untilNextCheck()
	if !known {
		do()
		return
	}
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
			}
			if r.stopCode() < 0 {
				cancel()
				return
			}
			d, _ := r.untilNextCheck()
			t.Reset(d)
		}
	})
	defer watch.Wait()
	defer close(done)
	do()
}

// chargeWait takes fuel for the time that a guest is about to wait, a unit for each
// microsecond: without it a guest that sleeps would never come to the end of its
// fuel. What counts is the time that it asks for, which is the same everywhere.
func (r *run) chargeWait(wanted time.Duration) {
	g, balance := &r.fuelGauge, int64(r.in.balance.Get())
	used := g.tally.SettleBalance(balance - max(wanted.Microseconds(), 0))
	if g.limit > 0 {
		if used > g.limit {
			r.in.balance.Set(uint64(g.tally.GrantSlice(0)))
			panic(errFuel)
		}
		balance = min(balance, g.limit-used)
	}
	r.in.balance.Set(uint64(g.tally.GrantSlice(balance)))
}

// sleepMS waits on the real clock. The fixed clock of the guest, if it has
// that one, moves on by as much as it wanted to sleep, whenever it wakes.
func sleepMS(_ context.Context, r *run, _ api.Memory, s []uint64) {
	wanted := time.Duration(u32(s[0])) * time.Millisecond
	if r.stopCode() == 0 { // a guest that should stop may ask a million times
		r.chargeWait(wanted)
	}
	if !realClock(r.facts.call) {
		r.in.clock.sleep(int64(wanted))
	}
	setResult(s, r.sleep(wanted))
}

func (r *run) sleep(wanted time.Duration) int32 {
	if wanted >= workerGrace && r.stopCode() == 0 { // a guest that should stop may ask a million times
		defer r.releaseWorker()()
	}
	until := time.Now().Add(wanted)
	for {
		if r.stopCode() < 0 {
			return abi.ErrCancelled
		}
		left := time.Until(until)
		if left <= 0 {
			return 0
		}
		if d, known := r.untilNextCheck(); known {
			left = min(left, d)
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-r.ctx.Done():
			t.Stop()
		}
	}
}
