package operator

import (
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// begun is the number of sessions that a ZooKeeper has begun.
func begun(server *zktest.Server) int {
	n := 0
	for _, one := range server.Log() {
		if slices.ContainsFunc(one.Changes, func(c zktest.Change) bool { return c.Kind == zktest.SessionBegun }) {
			n++
		}
	}
	return n
}

// A hundred requests are one session in ZooKeeper's own log. After ZooKeeper has ended the idle
// session, no request fails.
func TestRequestsAreOneSessionOfZooKeeper(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	between := zktest.NewProxy(t, server.Address())
	reg := reached(t, between.Address())
	s := NewSharedSession(reg, "jobs")
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.request(t, func(o *Operator) error {
		javatest.Write(t, o.session, javatest.Config(nil))
		javatest.Put(t, o.session, registry.CreateEphemeral, "/lives", "as long as the session")
		return nil
	})
	for range 100 {
		s.request(t, func(o *Operator) error {
			_, err := o.Job(t.Context(), javatest.Name)
			return err
		})
	}
	if n := begun(server); n != 1 {
		t.Errorf("%d sessions", n)
	}

	news := make(chan struct{}, 1)
	watch, err := reached(t, server.Address()).Open(t.Context(), func(registry.Event) {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Follow(t.Context(), "/lives"); err != nil {
		t.Fatal(err)
	}
	between.Set(zktest.Refuse)
	for {
		n, err := watch.Read(t.Context(), "/lives")
		if err != nil {
			t.Fatal(err)
		}
		if !n.Exists {
			break
		}
		<-news
	}
	between.Set(zktest.Pass)
	for range 100 {
		s.names(t)
	}
	if n := begun(server); n != 3 {
		t.Errorf("%d sessions with the watching one and the one after the loss", n)
	}
}

// reached returns a registry on a ZooKeeper until the test ends.
func reached(t *testing.T, address string) *zk.Registry {
	t.Helper()
	reg, err := zk.New(zk.Options{Servers: []string{address}, SessionTimeout: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	return reg
}
