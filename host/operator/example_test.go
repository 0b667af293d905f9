package operator_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// An operator controls the jobs of all servers from anywhere that reaches the registry.
func ExampleOperator() {
	registry := embedded.Memory()
	defer registry.Close()
	h, err := host.New(host.Options{
		Registry: registry, Namespace: "shop", Instance: "10.0.0.1@-@1",
		Jobs: []job.Config{{Name: "report", Cron: "0 0 3 * * ?", Shards: 2}},
		Runner: host.Func(func(context.Context, job.Call) job.Outcome {
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
	<-h.Ready()

	o, err := operator.Open(ctx, registry, "shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer o.Close()
	if err := o.Pause(ctx, "report", operator.PauseTerms{}); err != nil {
		fmt.Println(err)
		return
	}
	jobs, err := o.Jobs(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, j := range jobs {
		fmt.Printf("%s is %s on %d server\n", j.Name, j.State, len(j.Members))
	}
	fmt.Println(o.Pause(ctx, "repot", operator.PauseTerms{}))
	// Output:
	// report is paused on 1 server
	// there is no job "repot" in namespace shop
}
