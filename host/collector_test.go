package host

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// growth returns the current GOGC.
func growth() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// asked is a Runner that reports the current GOGC when a job starts.
type asked struct {
	Func
	growth chan int
}

// Listens is part of Listener.
func (a asked) Listens() (started, completed bool) {
	select {
	case a.growth <- growth():
	default:
	}
	return false, false
}

func TestHeapIsDenseAfterStart(t *testing.T) { //nolint:paralleltest // it changes the collector of the process
	const other = 90 // chosen by an operator
	defer debug.SetGCPercent(debug.SetGCPercent(defaultGrowth))
	for _, c := range []struct {
		alone         bool
		usual, during int
	}{
		{alone: false, usual: defaultGrowth, during: defaultGrowth},
		{alone: true, usual: defaultGrowth, during: startGrowth},
		{alone: true, usual: other, during: other},
	} {
		debug.SetGCPercent(c.usual)
		a := asked{Func(fine), make(chan int, 1)}
		h, err := New(Options{Runner: a, Jobs: []job.Config{{Name: "j", Shards: 1}}, Alone: c.alone})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		if got := <-a.growth; got != c.during {
			t.Errorf("%+v: while jobs begin the heap grows by %d %%", c, got)
		}
		<-h.Ready()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := growth(); got != c.usual {
			t.Errorf("%+v: then by %d %%", c, got)
		}
	}
}
