package host

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// growth is the percentage that the collector of garbage goes by.
func growth() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// asked is a Runner that notes what the collector goes by when a job begins.
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

func TestTheHeapIsDenseAfterAStart(t *testing.T) { //nolint:paralleltest // the collector is that of the process
	const other = 90 // which somebody has set
	defer debug.SetGCPercent(debug.SetGCPercent(usualGrowth))
	for _, c := range []struct {
		alone         bool
		usual, during int
	}{
		{alone: false, usual: usualGrowth, during: usualGrowth},
		{alone: true, usual: usualGrowth, during: startGrowth},
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
