package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A job that is a Go function, with the registry in memory.
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

	// The job fires at three at night; Trigger runs it now.
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

// toChannel is a trace.Sink; a real sink stores rows durably.
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

// Jobs are added to a running host, changed and removed.
func ExampleHost_Put() {
	ran := make(chan string, 1)
	h, err := host.New(host.Options{
		Runner: host.Func(func(_ context.Context, c job.Call) job.Outcome {
			ran <- "it ran with " + c.Config.Param
			return job.Outcome{Verdict: job.OK}
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			fmt.Println(err)
		}
	})

	if err := h.Put(ctx, job.Config{Name: "report", Shards: 1, Param: "orders"}); err != nil {
		fmt.Println(err)
		return
	}
	if err := h.Trigger(ctx, "report"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-ran)

	// A job that cannot run is refused, and nothing changes.
	err = h.Put(ctx, job.Config{Name: "report", Shards: 1, Cron: "at noon"})
	if refused, ok := errors.AsType[*host.Error](err); ok {
		fmt.Println(refused.Code)
	}
	// Remove returns when all runs of the job have ended.
	if err := h.Remove(ctx, "report"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(h.Jobs()), "jobs")
	// Output:
	// it ran with orders
	// invalid
	// 0 jobs
}

// A job that is a Wasm module, in the sandbox.
func ExampleModule() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	results := make(chan string, 1)
	h, err := host.New(host.Options{
		DataDir: dir, // this server's own: the registry inside, compiled modules
		Modules: map[string]host.Module{"hello": {Path: "../plugins/examples/hello-rust/hello-rust.wasm"}},
		Jobs:    []job.Config{{Name: "greet", Module: "hello", Shards: 1, ItemParams: "0=moon"}},
		Observe: func(e host.Event) {
			if e.Kind == host.EventEnd {
				results <- string(e.Outcome.Result)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			fmt.Println(err)
		}
	})

	<-h.Ready()
	if err := h.Trigger(ctx, "greet"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-results)
	// Output: hello, moon, from item 0 of 1
}
