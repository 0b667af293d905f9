package host_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A job that is a Go function, on a registry in memory.
func Example() {
	registry := embedded.Memory()
	defer registry.Close()

	rows := make(chan trace.Row, 3)
	h, err := host.New(host.Options{
		Registry: registry,
		Jobs: []job.Config{{
			Name: "greet", Cron: "0 0 3 * * ?", Shards: 3, ItemParams: "0=Amsterdam,1=Berlin,2=Copenhagen",
		}},
		Runner: host.Func(func(_ context.Context, c job.Call) job.Outcome {
			return job.Outcome{Verdict: job.OK, Result: []byte("hello, " + c.ItemParam)}
		}),
		Sinks: []trace.Sink{toChannel(rows)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			fmt.Println(err)
		}
	})

	// Its instant is three at night; who cannot wait triggers it.
	<-h.Ready()
	if err := h.Trigger(ctx, "greet"); err != nil {
		fmt.Println(err)
	}
	var results []string
	for range 3 {
		r := <-rows
		results = append(results, fmt.Sprintf("item %d %s: %s", r.Item, r.State, r.Result))
	}
	slices.Sort(results)
	for _, r := range results {
		fmt.Println(r)
	}
	stop()
	running.Wait()
	// Output:
	// item 0 succeeded: hello, Amsterdam
	// item 1 succeeded: hello, Berlin
	// item 2 succeeded: hello, Copenhagen
}

// toChannel is a trace.Sink; a real one keeps rows for good.
type toChannel chan<- trace.Row

func (c toChannel) Write(ctx context.Context, batch []trace.Row) error {
	for _, r := range batch {
		select {
		case c <- r:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
