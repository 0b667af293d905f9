package sandbox

import (
	"context"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// stopTick is how often a waiting run checks whether it should stop. The caller
// provides a function for that, not a channel.
const stopTick = 50 * time.Millisecond

// stopCode returns the code that a waiting function gives the guest if the run should
// stop, or 0. A streaming job that is disabled or resharded ends after its present batch,
// so a function may go on waiting in that batch.
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

// untilNextCheck returns the time until a waiting function should call stopCode again. It
// returns false if only the run's context can stop the run.
func (r *run) untilNextCheck() (time.Duration, bool) {
	d, known := time.Duration(0), false
	if r.facts.call.Why != nil {
		d, known = stopTick, true
	}
	if !r.deadline.IsZero() {
		// Slightly later, so that the deadline has passed for certain.
		if left := max(time.Until(r.deadline), 0) + time.Microsecond; !known || left < d {
			d, known = left, true
		}
	}
	return d, known
}

// waitCancellable runs do, which waits, and calls cancel, which ends do, as soon as the
// run should stop. The context of the run must end do as well.
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

// chargeWait charges fuel for the time that a guest is about to wait, one unit per
// microsecond. Otherwise a sleeping guest would never use up its fuel. The requested time
// counts, because it is the same on every machine. A guest that cannot pay ends here.
func (r *run) chargeWait(wanted time.Duration) {
	g, balance := &r.fuelGauge, int64(r.in.balance.Get())
	// A balance that is lower by the wait counts the wait as used. Afterwards the guest gets
	// its balance back, up to the rest of its fuel.
	used := g.tally.SettleBalance(balance - max(wanted.Microseconds(), 0))
	if g.limit > 0 {
		if used > g.limit {
			r.in.balance.Set(uint64(g.tally.GrantSlice(0))) // so that no fuel counts twice
			panic(errFuel)
		}
		balance = min(balance, g.limit-used)
	}
	r.in.balance.Set(uint64(g.tally.GrantSlice(balance)))
}

// sleepMS implements the guest's sleep_ms(ms). It waits on the real clock. A fixed clock
// of the guest moves by the requested time, however long the sleep was.
func sleepMS(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	wanted := time.Duration(u32(s[0])) * time.Millisecond
	if r.stopCode() == 0 { // otherwise the call does not wait, however often the guest repeats it
		r.chargeWait(wanted)
	}
	if !realClock(r.facts.call) {
		r.in.clock.sleep(int64(wanted))
	}
	return r.sleep(wanted)
}

// sleep waits, and returns 0. If the run should stop, it returns abi.ErrCancelled at once.
func (r *run) sleep(wanted time.Duration) int32 {
	if wanted >= workerGrace && r.stopCode() == 0 { // otherwise the wait is too short to free the worker
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
