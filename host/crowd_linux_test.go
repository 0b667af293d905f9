package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// many returns the number of jobs of a crowd.
func many() int {
	if testing.Short() {
		return 1000
	}
	return 10_000
}

// crowd is a host with many jobs of one item each.
type crowd struct {
	*Host
	b    *testing.B
	stop func()

	mu    sync.Mutex // guards the fields below
	begun map[int64]int
	last  map[int64]time.Time // when the last guest of an instant began
	all   chan int64          // receives each instant at which every job has begun
}

func (c *crowd) observe(e Event) {
	if e.Kind != EventStart {
		return
	}
	at := e.Scheduled.UnixMilli()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[at] = e.At
	if c.begun[at]++; c.begun[at] == many() {
		c.all <- at
	}
}

func newCrowd(b *testing.B, reg registry.Registry, jobs int, cron string) *crowd {
	b.Helper()
	c := &crowd{b: b, begun: map[int64]int{}, last: map[int64]time.Time{}, all: make(chan int64, 100)}
	o := Options{Registry: reg, Runner: Func(fine), Observe: c.observe, DrainTimeout: 10 * time.Minute, Alone: true}
	for i := range jobs {
		o.Jobs = append(o.Jobs, job.Config{
			Name: "idle-" + strconv.Itoa(i), Cron: cron, Shards: 1, ItemParams: "0=a", Failover: true, MonitorExecution: true, MaxClockSkew: -1,
		})
	}
	var err error
	if c.Host, err = New(o); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, reg.Close()); err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(c.stop)
	<-c.Ready()
	c.settle()
	return c
}

// settle waits until every item has an owner.
func (c *crowd) settle() {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for range look.C {
		settled := true
		for _, s := range c.Jobs() {
			settled = settled && len(s.Items) == 1 && s.Items[0].Owner != ""
		}
		if settled {
			return
		}
	}
}

// registries calls do for each kind of registry to measure.
func registries(b *testing.B, do func(b *testing.B, open func() registry.Registry)) {
	b.Run("zookeeper", func(b *testing.B) {
		server := zktest.Start(b, zktest.Debian(b), zktest.Options{Tick: 2 * time.Second})
		do(b, func() registry.Registry {
			r, err := zk.New(zk.Options{Servers: []string{server.Address()}, SessionTimeout: 30 * time.Second})
			if err != nil {
				b.Fatal(err)
			}
			return r
		})
	})
	b.Run("embedded", func(b *testing.B) {
		do(b, func() registry.Registry { return embedded.Memory() })
	})
}

// memory returns the memory of the process in KiB: in use after a collection, and resident
// after free memory was returned.
func memory(b *testing.B) (used, resident float64) {
	b.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	stat, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(stat))[1])
	if err != nil {
		b.Fatal(err)
	}
	return float64(m.HeapAlloc+m.StackInuse) / 1024, float64(pages*os.Getpagesize()) / 1024
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkIdleJobs measures the cost of an idle job: its share of the memory that many of them
// add to a host without jobs, and the share of a core that all of them take.
func BenchmarkIdleJobs(b *testing.B) {
	const watch = 10 * time.Second
	registries(b, func(b *testing.B, open func() registry.Registry) {
		var used, resident, share, routines float64
		for b.Loop() {
			empty := newCrowd(b, open(), 0, "")
			usedBefore, residentBefore := memory(b)
			before := runtime.NumGoroutine()
			empty.stop()
			c := newCrowd(b, open(), many(), "0 0 0 1 1 ? 2099")
			usedAfter, residentAfter := memory(b)
			used = (usedAfter - usedBefore) / float64(many())
			resident = (residentAfter - residentBefore) / float64(many())
			routines = float64(runtime.NumGoroutine() - before)
			began, spent := time.Now(), cpu(b)
			<-time.After(watch)
			share = 100 * float64(cpu(b)-spent) / float64(time.Since(began))
			if got := c.Jobs()[0].Troubles; len(got) > 0 {
				b.Error(got)
			}
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(used, "KiB_used/job<=16")
		b.ReportMetric(resident, "KiB_resident/job") // includes garbage of the start
		b.ReportMetric(share, "%_of_a_core<=1")
		b.ReportMetric(routines, "goroutines")
	})
}

// BenchmarkDueAtOnce measures the time from an instant until the last of many jobs that are due
// then has begun.
func BenchmarkDueAtOnce(b *testing.B) {
	registries(b, func(b *testing.B, open func() registry.Registry) {
		c := newCrowd(b, open(), many(), "0/30 * * * * ?")
		for len(c.all) > 0 {
			<-c.all
		}
		var took []float64
		for b.Loop() {
			at := <-c.all
			c.mu.Lock()
			took = append(took, c.last[at].Sub(time.UnixMilli(at)).Seconds())
			c.mu.Unlock()
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(middle(took), fmt.Sprintf("s_until_the_last_of_%d<=2", many()))
	})
}
