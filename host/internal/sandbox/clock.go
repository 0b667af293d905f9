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

// withClock gives the guest the time that it is granted: the real one, or one
// that begins at the scheduled instant and moves only when it is looked at or
// slept upon, so that a run without a clock always sees the same time. The
// instance may serve several runs, each with a clock of its own.
func withClock(config wazero.ModuleConfig, in *instance, c job.Call) wazero.ModuleConfig {
	if realClock(c) {
		wall := func() (int64, int32) {
			t := in.r.clock()
			return t.Unix(), int32(t.Nanosecond())
		}
		return config.WithWalltime(wall, 1).WithSysNanotime().WithNanosleep(func(ns int64) {
			in.r.chargeWait(time.Duration(ns))
			in.sleep(ns)
		})
	}
	f := &in.clock
	return config.WithWalltime(f.walltime, 1).WithNanotime(f.nanotime, 1).WithNanosleep(f.sleep)
}

// sleep ends early with the run; the engine's own would not.
func (in *instance) sleep(ns int64) {
	if ns <= 0 {
		return
	}
	if time.Duration(ns) >= workerGrace {
		defer in.r.releaseWorker()()
	}
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-in.r.ctx.Done():
	}
}

// fixedClock moves by a millisecond with each look at it.
type fixedClock struct {
	start time.Time
	moved time.Duration
}

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

// randomReader is the guest's source of random numbers: the system's if it is
// granted, else one that the seed of the run determines. Instances of one run
// have streams of their own, so that what one has drawn does not come again.
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
