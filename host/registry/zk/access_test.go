package zk_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

func TestAccess(t *testing.T) {
	t.Parallel()
	server := serving(t)
	t.Run("chroot", func(t *testing.T) { t.Parallel(); testChroot(t, server) })
	t.Run("chroot and digest conform", func(t *testing.T) { t.Parallel(); testConformBelow(t, server) })
	t.Run("digest", func(t *testing.T) { t.Parallel(); testDigest(t, server) })
	t.Run("names", func(t *testing.T) { t.Parallel(); testNames(t, server) })
	t.Run("absent", func(t *testing.T) { t.Parallel(); testAbsent(t, server) })
	t.Run("null", func(t *testing.T) { t.Parallel(); testNull(t, server) })
	t.Run("read only", func(t *testing.T) { t.Parallel(); testReadOnly(t, server) })
	t.Run("size", func(t *testing.T) { t.Parallel(); testSize(t, server) })
}

// A session that only reads leaves nothing behind, not even a chroot, and receives events
// nevertheless.
func testReadOnly(t *testing.T, server *zktest.Server) {
	whole := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long})
	m := join(t, zk.Options{Servers: []string{server.Address()}, Chroot: "/only/read", ReadOnly: true, SessionTimeout: long})
	if m.read("/").Exists || whole.read("/only").Exists {
		t.Error("the chroot was made")
	}
	if _, err := m.Commit(m.ctx, create("/a")); !errors.Is(err, registry.ErrReadOnly) {
		t.Errorf("commit: %v", err)
	}
	if _, err := m.Time(m.ctx); !errors.Is(err, registry.ErrReadOnly) {
		t.Errorf("time: %v", err)
	}
	if err := m.Follow(m.ctx, "/"); err != nil {
		t.Fatal(err)
	}
	whole.commit(create("/only"), create("/only/read"))
	m.await(registry.Event{Kind: registry.Changed, Path: "/", Changes: 1})
}

func testChroot(t *testing.T, server *zktest.Server) {
	below := join(t, zk.Options{Servers: []string{server.Address()}, Chroot: "/some/where/", SessionTimeout: long})
	whole := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long})
	below.follow("/")
	below.commit(create("/a"))
	below.await(registry.Event{Kind: registry.Changed, Path: "/"})
	below.forget()
	whole.sync()
	whole.commit(set("/some/where/a", "x"))
	below.await(registry.Event{Kind: registry.Changed, Path: "/a", Changes: 1})
	got := below.commit(registry.Op{Kind: registry.CreateSequential, Path: "/a/n-"}).Results[0].Path
	if got != "/a/n-0000000000" {
		t.Errorf("name %s", got)
	}
	if n := below.read("/"); !slices.Equal(n.Children, []string{"a"}) {
		t.Errorf("children %v", n.Children)
	}
	var conflict *registry.ConflictError
	if _, err := below.Commit(below.ctx, create("/a")); !errors.As(err, &conflict) || conflict.Op.Path != "/a" {
		t.Errorf("refusal %v", err)
	}
	if _, err := below.Time(below.ctx); err != nil {
		t.Error(err)
	}
	if n := below.read("/"); !slices.Equal(n.Children, []string{"a"}) {
		t.Errorf("the clock left %v", n.Children)
	}
}

func testConformBelow(t *testing.T, server *zktest.Server) {
	registrytest.Run(t, func(t *testing.T) registry.Registry {
		t.Helper()
		return open(t, zk.Options{
			Servers: []string{server.Address()}, Chroot: "/suite/of/tests", Digest: "suite:secret", SessionTimeout: long,
		})
	})
}

func testDigest(t *testing.T, server *zktest.Server) {
	p := zktest.NewProxy(t, server.Address())
	mine := join(t, zk.Options{Servers: []string{p.Address()}, Chroot: "/guarded", Digest: "me:secret", SessionTimeout: long})
	mine.commit(create("/mine"), create("/mine/k"), registry.Op{Kind: registry.Set, Path: "/mine", Data: []byte("x")})
	for name, o := range map[string]zk.Options{
		"nobody": {}, "somebody else": {Digest: "you:secret"}, "wrong password": {Digest: "me:guess"},
	} {
		o.Servers, o.SessionTimeout = []string{server.Address()}, long
		below := join(t, o)
		if _, err := below.Read(below.ctx, "/guarded"); !errors.Is(err, registry.ErrDenied) {
			t.Errorf("%s reads the chroot: %v", name, err)
		}
		o.Chroot = "/guarded"
		other := join(t, o)
		other.sync()
		_, readErr := other.Read(other.ctx, "/mine")
		_, setErr := other.Commit(other.ctx, set("/mine/k", "y"))
		_, createErr := other.Commit(other.ctx, create("/mine/theirs"))
		for op, err := range map[string]error{"read": readErr, "set": setErr, "create": createErr} {
			if !errors.Is(err, registry.ErrDenied) || errors.Is(err, registry.ErrConflict) || !strings.Contains(err.Error(), "/mine") {
				t.Errorf("%s, %s: %v", name, op, err)
			}
		}
		var work sync.WaitGroup
		for range 10 { // at once, and therefore in one request
			work.Go(func() {
				if _, err := other.Read(other.ctx, "/mine"); !errors.Is(err, registry.ErrDenied) {
					t.Errorf("%s reads: %v", name, err)
				}
			})
		}
		work.Wait()
	}
	if n := mine.read("/mine/k"); n.Stat.Version != 0 {
		t.Errorf("somebody set it: %+v", n)
	}
	p.Cut()
	mine.awaitKind(registry.Resumed)
	mine.commit(set("/mine", "still me"))
	mine.commit(registry.Op{Kind: registry.Absent, Path: "/mine/no"})
	if _, err := mine.Time(mine.ctx); err != nil {
		t.Error(err)
	}
}

// testNull: the service may store null for empty data, which differs from empty data for Java
// programs.
func testNull(t *testing.T, server *zktest.Server) {
	m := join(t, zk.Options{Servers: []string{server.Address()}, Chroot: "/null", SessionTimeout: long})
	m.commit(create("/made"), create("/set"), registry.Op{Kind: registry.Set, Path: "/set", Version: registry.AnyVersion})
	conn, _, err := client.Connect([]string{server.Address()}, long, client.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, path := range []string{"/null", "/null/made", "/null/set"} {
		if data, _, err := conn.Get(path); err != nil || data == nil {
			t.Errorf("%s: null: %v, %v", path, data == nil, err)
		}
	}
}

// testNames: names are resolved again for each connection.
func testNames(t *testing.T, server *zktest.Server) {
	_, port, err := net.SplitHostPort(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	addresses, dialled, connections := []string{"192.0.2.1"}, []string{}, []net.Conn{}
	m := join(t, zk.Options{
		Servers: []string{"registry.example:" + port}, SessionTimeout: long,
		Lookup: func(_ context.Context, host string) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			if host != "registry.example" {
				return nil, fmt.Errorf("asked for %s", host)
			}
			return slices.Clone(addresses), nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			dialled = append(dialled, address)
			c, err := new(net.Dialer).DialContext(ctx, network, server.Address())
			connections = append(connections, c)
			return c, err
		},
	})
	mu.Lock()
	addresses = []string{"2001:db8::2"}
	if err := connections[0].Close(); err != nil {
		t.Error(err)
	}
	mu.Unlock()
	m.awaitKind(registry.Resumed)
	m.sync()
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"192.0.2.1:" + port, "[2001:db8::2]:" + port}; !slices.Equal(dialled, want) {
		t.Errorf("dialled %v, want %v", dialled, want)
	}
}

// testAbsent: the service has no such operation, and its substitute needs a parent.
func testAbsent(t *testing.T, server *zktest.Server) {
	m := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long})
	gone := func(path string) registry.Op { return registry.Op{Kind: registry.Absent, Path: path} }
	m.commit(create("/absent"), create("/absent/there"))
	m.commit(gone("/absent/a/b/c"), create("/absent/a"), gone("/absent/a/b/c"), gone("/absent/x/y"))
	var conflict *registry.ConflictError
	_, err := m.Commit(m.ctx, gone("/absent/x/y"), gone("/absent/there"))
	if !errors.As(err, &conflict) || conflict.Index != 1 || conflict.Reason != registry.NodeExists {
		t.Errorf("what is there: %v", err)
	}
	if n := m.read("/absent"); !slices.Equal(n.Children, []string{"a", "there"}) {
		t.Errorf("children %v", n.Children)
	}
}

func testSize(t *testing.T, server *zktest.Server) {
	m := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long})
	m.commit(create("/size"))
	ops := make([]registry.Op, 10_000)
	for i := range ops {
		ops[i] = create(fmt.Sprintf("/size/orders.settlement.daily-%05d", i))
		ops[i].Data = []byte("192.0.2.17@-@12345, and what else an instance says")
	}
	if _, err := m.Commit(m.ctx, ops...); !errors.Is(err, registry.ErrTooLarge) {
		t.Errorf("10,000 nodes: %v", err)
	}
	// The same session continues, since nothing was sent.
	m.commit(ops[:100]...)
	testBound(t, server)
}

// testBound determines the largest transaction of many kinds of ops, with the bound at which a
// server refuses. If the computed size were too small, the server would close the connection.
func testBound(t *testing.T, server *zktest.Server) {
	for _, digest := range []string{"", "me:secret"} {
		m := join(t, zk.Options{Servers: []string{server.Address()}, Digest: digest, MaxRequest: 1<<20 - 1, SessionTimeout: long})
		root := "/bound" + digest[:min(2, len(digest))]
		m.commit(create(root))
		ops := []registry.Op{
			create(root + "/a"), ephemeral(root + "/e"), {Kind: registry.CreateSequential, Path: root + "/s-"},
			{Kind: registry.Check, Path: root, Version: 0}, {Kind: registry.Delete, Path: root + "/e", Version: 0},
			{Kind: registry.Absent, Path: root + "/no"}, set(root+"/a", ""),
		}
		for i := range 1_000 {
			ops = append(ops, create(fmt.Sprintf("%s/%d", root, i)))
		}
		sized := func(n int) []registry.Op {
			ops[6].Data = make([]byte, n)
			return ops
		}
		// A version that no node has, so that the search writes nothing.
		never := registry.Op{Kind: registry.Check, Path: root, Version: 99}
		low, high := 0, 1<<20
		for low+1 < high {
			mid := (low + high) / 2
			if _, err := m.Commit(m.ctx, append(slices.Clone(sized(mid)), never)...); errors.Is(err, registry.ErrTooLarge) {
				high = mid
			} else if errors.Is(err, registry.ErrConflict) {
				low = mid
			} else {
				t.Fatalf("%d bytes: %v", mid, err)
			}
		}
		t.Logf("largest data beside %d ops: %d bytes", len(ops), low)
		m.commit(sized(low)...)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	release := zktest.Debian(t)
	dir, port := t.TempDir(), strconv.Itoa(zktest.FreePort(t))
	zktest.Start(t, release, zktest.Options{Tick: tick, Lines: zktest.Secure(t, dir, port, "none")})
	cert, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	servers := []string{"localhost:" + port}
	m := join(t, zk.Options{Servers: servers, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, SessionTimeout: long})
	m.commit(create("/secret"))
	m.follow("/secret")
	m.commit(set("/secret", "x"))
	m.await(registry.Event{Kind: registry.Changed, Path: "/secret", Changes: 1})

	strange := open(t, zk.Options{Servers: servers, TLS: &tls.Config{MinVersion: tls.VersionTLS12}, SessionTimeout: long})
	if _, err := strange.Open(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server whose certificate nobody knows: %v", err)
	}
	if err := strange.Close(); err != nil {
		t.Error(err)
	}
}
