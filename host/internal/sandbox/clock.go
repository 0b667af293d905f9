package sandbox

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/wasmjob/wasmjob/host/job"
)

// withClock gives the guest the granted clock: the real one, or a fixed one. The
// fixed clock begins at the scheduled instant and moves only when the guest reads it
// or sleeps, so that a run without the clock grant always sees the same time. An
// instance may serve several runs, each with its own clock.
func withClock(config wazero.ModuleConfig, in *instance, c *job.Call) wazero.ModuleConfig {
	if realClock(c) {
		wall := func() (int64, int32) {
			t := in.run.clock()
			return t.Unix(), int32(t.Nanosecond())
		}
		return config.WithWalltime(wall, 1).WithSysNanotime().WithNanosleep(func(ns int64) {
			in.run.chargeWait(time.Duration(ns))
			in.sleep(ns)
		})
	}
	f := &in.clock // its sleep takes no time, so it costs no fuel
	return config.WithWalltime(f.walltime, 1).WithNanotime(f.nanotime, 1).WithNanosleep(f.sleep)
}

// sleep ends early if the run ends; the engine's own sleep would not.
func (in *instance) sleep(ns int64) {
	if ns <= 0 {
		return
	}
	if time.Duration(ns) >= workerGrace {
		defer in.run.releaseWorker()()
	}
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-in.run.ctx.Done():
	}
}

// fixedClock moves by a millisecond each time it is read.
type fixedClock struct {
	start time.Time
	moved time.Duration
}

// walltime returns seconds since 1970 and nanoseconds.
func (f *fixedClock) walltime() (int64, int32) {
	f.moved += time.Millisecond
	t := f.start.Add(f.moved)
	return t.Unix(), int32(t.Nanosecond())
}

func (f *fixedClock) nanotime() int64 {
	f.moved += time.Millisecond
	return int64(f.moved)
}

func (f *fixedClock) sleep(ns int64) { f.moved += time.Duration(max(ns, 0)) }

// randomReader returns the guest's source of random numbers: the system's if
// granted, or one that is seeded by the run. Each instance of a run has its own
// stream, so that numbers do not repeat.
func (r *run) randomReader() io.Reader {
	if r.facts.call.Config.Allow.Random {
		return crand.Reader
	}
	seed := r.facts.seedBytes()
	if r.stream != 0 {
		seed = sha256.Sum256(binary.BigEndian.AppendUint32(seed[:], r.stream))
	}
	return rand.NewChaCha8(seed)
}
