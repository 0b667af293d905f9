package cluster_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// otherClock is a registry whose times are shifted, as if its clock or this server's
// clock had been set.
type otherClock struct {
	registry.Registry
	by time.Duration
}

type otherSession struct {
	registry.Session
	by time.Duration
}

func (r otherClock) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := r.Registry.Open(ctx, on)
	if err != nil {
		return nil, err
	}
	return otherSession{s, r.by}, nil
}

func (s otherSession) Time(ctx context.Context) (time.Time, error) {
	t, err := s.Session.Time(ctx)
	return t.Add(s.by), err
}

func (s otherSession) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	r, err := s.Session.Commit(ctx, ops...)
	if !r.At.IsZero() {
		r.At = r.At.Add(s.by)
	}
	return r, err
}

// The leader's clock is an hour ahead of the registry's, or behind. Ahead, it begins
// nothing and reports that, but the others begin the items that it assigned to them.
// Behind, it begins what is due.
func otherClocks(t *testing.T, c *stage, by time.Duration) {
	config := job.Config{Name: "job", Cron: "* * * * * ?", Shards: 2, MonitorExecution: true, Failover: true, MaxClockSkew: -1}
	leader := c.Start(cluster.Options{Instance: member(1), Job: config, Adjust: func(o *host.Options) { o.Registry = otherClock{o.Registry, by} }})
	c.calm(member(1))
	other := c.Start(cluster.Options{Instance: member(2), Job: config})
	c.calm(member(1), member(2))
	ran := func(s cluster.State, id job.InstanceID) int {
		n := 0
		for _, call := range s.Calls {
			if call.Instance == id {
				n++
			}
		}
		return n
	}
	s := c.Await("runs", func(s cluster.State) bool {
		return ran(s, member(2)) >= 3 && (by < 0 || ran(s, member(1)) >= 3)
	})
	if n := ran(s, member(1)); by < 0 && n != 0 {
		t.Errorf("the leader began %d runs", n)
	}
	const differs = "the server's clock differed from the registry's"
	reports := func(m *cluster.Member) bool {
		return slices.ContainsFunc(m.Host.Jobs()[0].Troubles, func(r reason.Reason) bool { return strings.Contains(r.String(), differs) })
	}
	if !reports(leader) {
		t.Errorf("the leader's troubles: %q", leader.Host.Jobs()[0].Troubles)
	}
	if reports(other) {
		t.Errorf("the other's troubles: %q", other.Host.Jobs()[0].Troubles)
	}
}

func hourAhead(t *testing.T, c *stage)  { otherClocks(t, c, -time.Hour) }
func hourBehind(t *testing.T, c *stage) { otherClocks(t, c, time.Hour) }
