package zk_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

func TestEnsemble(t *testing.T) {
	t.Parallel()
	servers := zktest.StartEnsemble(t, zktest.Debian(t), 3, zktest.Options{Tick: tick})
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.Address())
	}
	leader, followers := roles(t, servers)
	testOtherServer(t, followers[0], followers[1])
	testDeposed(t, leader, followers)
	leader, _ = roles(t, servers)
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range servers {
				t.Logf("%s, %q: %s", s.Address(), s.Role(), s.Output())
			}
		}
	})
	testLeaderKilled(t, leader, addresses)
}

// roles waits until all servers serve, and returns them by role.
func roles(t *testing.T, servers []*zktest.Server) (leader *zktest.Server, followers []*zktest.Server) {
	t.Helper()
	for _, s := range servers {
		s.AwaitServing()
	}
	i := slices.IndexFunc(servers, func(s *zktest.Server) bool { return s.Role() == "leader" })
	if i < 0 {
		t.Fatal("no leader")
	}
	return servers[i], slices.Delete(slices.Clone(servers), i, i+1)
}

// testOtherServer: a server that lacks changes the session has seen must not serve it. The
// client tells the server what it has seen, and the server obeys.
func testOtherServer(t *testing.T, one, other *zktest.Server) {
	t.Helper()
	p := zktest.NewProxy(t, one.Address())
	m := join(t, zk.Options{Servers: []string{p.Address()}, SessionTimeout: long})
	m.commit(create("/moved"), ephemeral("/moved/e"))
	for range 5 {
		revision := m.commit(set("/moved", "x")).Revision
		one, other = other, one
		m.forget()
		p.Lead(one.Address())
		p.Cut()
		m.awaitKind(registry.Resumed)
		if got := m.read("/moved").Stat.Modified; got != revision {
			t.Errorf("wrote at %x, read %x elsewhere", revision, got)
		}
		openings := p.Openings()
		const seenAt = 8 // after the length and the version
		if seen := int64(binary.BigEndian.Uint64(openings[len(openings)-1][seenAt:])); seen < revision {
			t.Errorf("saw %x and says %x", revision, seen)
		}
	}
	if n := m.read("/moved/e"); n.Stat.Owner != m.ID() {
		t.Errorf("the ephemeral node: %+v", n)
	}
}

func testLeaderKilled(t *testing.T, leader *zktest.Server, addresses []string) {
	t.Helper()
	m := join(t, zk.Options{Servers: addresses, SessionTimeout: long})
	m.commit(create("/leader"), ephemeral("/leader/e"))
	id, killed := m.ID(), time.Now()
	leader.Kill()
	n, unknown := 0, 0
	for {
		_, err := m.Commit(m.ctx, registry.Op{Kind: registry.Create, Path: "/leader/after"})
		if err == nil || errors.Is(err, registry.ErrConflict) {
			break
		}
		if !errors.Is(err, registry.ErrUnknown) {
			t.Logf("not applied: %v", err)
		} else {
			unknown++
		}
		n++
		if m.ctx.Err() != nil {
			t.Fatalf("no commit after the leader was killed: %v", err)
		}
	}
	t.Logf("%v without writes after the leader was killed; %d failed, %d of them unknown", time.Since(killed).Round(time.Millisecond), n, unknown)
	m.sync()
	if e := m.read("/leader/e"); e.Stat.Owner != id || m.ID() != id {
		t.Errorf("the ephemeral node: %+v", e)
	}
	if !m.read("/leader/after").Exists {
		t.Error("the write of after is gone")
	}
}
