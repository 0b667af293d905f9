package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/strategy"
)

// toLast assigns all items to the last instance.
func toLast(_ context.Context, r strategy.Request) ([][]int, error) {
	items := make([][]int, len(r.Instances))
	for i := range r.Total {
		items[len(items)-1] = append(items[len(items)-1], i)
	}
	return items, nil
}

// listened is a registry that passes each event to a second listener.
type listened struct {
	registry.Registry
	on func(registry.Event)
}

// Open is part of registry.Registry.
func (l listened) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	return l.Registry.Open(ctx, func(e registry.Event) {
		l.on(e)
		on(e)
	})
}

const (
	// warmTakeovers are not measured; see warmTurns.
	warmTakeovers = 25
	takeovers     = 15 // per round: a single one is not enough
)

// BenchmarkTakeover kills a member that runs 100 items. It measures from the moment when
// the surviving member receives the event of the instance's end to the start of the last
// guest there. It also reports the time of a single write.
func BenchmarkTakeover(b *testing.B) {
	server := serving(b, 100*time.Millisecond, allCompilers)
	theirs := newRival(b, server.Address(), "takeover", 0)
	s := newSurvivor(b, server)
	var took, write []float64
	for range warmTakeovers {
		s.takeOver()
	}
	for b.Loop() {
		for range takeovers {
			took = append(took, s.takeOver())
			for range 10 {
				write = append(write, ms(theirs.write()))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(took), "ms-p50<=15")
	b.ReportMetric(took[len(took)*99/100], "ms-p99")
	b.ReportMetric(middle(write), "ms-write-p50")
	b.ReportMetric(write[len(write)*99/100], "ms-write-p99")
}

// survivor is a member that takes over from members that die.
type survivor struct {
	b      *testing.B
	c      *cluster.Cluster
	guests *crowd
	member *cluster.Member
	died   int // number of members that died

	mu        sync.Mutex // guards the fields below
	victim    string
	noticedAt time.Time
}

func newSurvivor(b *testing.B, server *zktest.Server) *survivor {
	b.Helper()
	s := &survivor{b: b, c: cluster.New(b, server, "takeover", "job"), guests: newCrowd()}
	o := s.options(member(2))
	adjust := o.Adjust
	o.Adjust = func(h *host.Options) {
		adjust(h)
		h.Registry = listened{direct(b, server), s.notify}
	}
	s.member = s.c.Start(o)
	return s
}

func (s *survivor) options(id job.InstanceID) cluster.Options {
	config := job.Config{Name: "job", Shards: fireItems, MonitorExecution: true, Failover: true, Strategy: "last"}
	return cluster.Options{Instance: id, Job: config, Adjust: func(o *host.Options) {
		o.Runner, o.Sinks = s.guests, []trace.Sink{s.guests}
		o.Strategies = map[string]strategy.Strategy{"last": strategy.Func(toLast)}
	}}
}

// notify records when the member receives the event of the victim's end.
func (s *survivor) notify(e registry.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Kind == registry.Changed && e.Path == s.victim {
		s.noticedAt = time.Now()
	}
}

// takeOver starts another member, which gets all items, kills it while it runs
// them, and returns how long it took to run them again.
func (s *survivor) takeOver() float64 {
	s.b.Helper()
	s.guests.reset(true)
	o := s.options(job.InstanceID(fmt.Sprintf("10.0.0.1@-@%d", s.died)))
	s.died++
	o.Session = 600 * time.Millisecond
	dying := s.c.Start(o)
	settled(s.b, []*cluster.Member{s.member, dying}, fireItems, s.member.Host.Jobs()[0].Instance)
	s.mu.Lock()
	s.victim = s.c.Job().Instance(o.Instance)
	s.mu.Unlock()
	if err := s.member.Host.Trigger(s.b.Context(), "job"); err != nil {
		s.b.Fatal(err)
	}
	s.guests.mu.Lock()
	s.guests.await(func() bool { return s.guests.started[o.Instance] == fireItems })
	s.guests.mu.Unlock()
	dying.Kill()
	s.guests.mu.Lock()
	s.guests.await(func() bool { return s.guests.started[member(2)] == fireItems })
	s.mu.Lock()
	took := ms(s.guests.last.Sub(s.noticedAt))
	s.mu.Unlock()
	s.guests.mu.Unlock()
	s.guests.release()
	dying.Forsake()
	settled(s.b, []*cluster.Member{s.member}, fireItems, "")
	return took
}
