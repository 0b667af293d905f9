package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// callBox is a listener that accepts connections with given addresses.
type callBox struct{ calls chan net.Conn }

func (b callBox) Accept() (net.Conn, error) {
	if c, ok := <-b.calls; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (b callBox) Close() error   { close(b.calls); return nil }
func (b callBox) Addr() net.Addr { return &net.TCPAddr{} }

type fromConn struct {
	net.Conn
	from net.Addr
}

func (c fromConn) RemoteAddr() net.Addr { return c.from }

func (b callBox) call(t *testing.T, from string) net.Conn {
	t.Helper()
	addr, err := net.ResolveTCPAddr("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	b.calls <- fromConn{there, addr}
	synctest.Wait()
	return here
}

// closed reports whether the other side has closed the connection.
func closed(c net.Conn) bool {
	if err := c.SetReadDeadline(time.Now()); errors.Is(err, io.ErrClosedPipe) {
		return true
	}
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// One address cannot take all connections of a monitor port. A connection that ends makes room
// for another.
func TestMonitorPortIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		o := newTool(t, reg)
		o.set("/jobs", "")
		o.set(layout.NewJob("jobs", "j").Root(), "")
		o.set(layout.NewJob("jobs", "j").Root()+"/a", "b")
		h := &Host{o: Options{Namespace: "jobs", Log: slog.New(slog.DiscardHandler)}, registry: reg}
		box := callBox{make(chan net.Conn)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); h.dumps(ctx, box, "j") }()

		var silent []net.Conn
		for _, from := range []string{"10.0.0.1:1", "[::ffff:10.0.0.1]:2", "[2001:db8::1]:1", "[2001:db8::2]:1"} {
			silent = append(silent, box.call(t, from))
		}
		for _, from := range []string{"10.0.0.1:3", "[2001:db8::3]:1"} {
			if c := box.call(t, from); !closed(c) {
				t.Errorf("%s has a third place", from)
			}
		}
		slow := box.call(t, "10.0.0.2:1")
		for _, c := range []net.Conn{slow, box.call(t, "10.0.0.3:1")} {
			if _, err := io.WriteString(c, "dump\n"); err != nil {
				t.Fatal(err)
			}
			if c == slow {
				continue
			}
			if got, err := io.ReadAll(c); err != nil || string(got) != "/j/a | b\n" {
				t.Errorf("the others get %q, %v", got, err)
			}
		}
		for _, c := range silent {
			if closed(c) {
				t.Error("who may say something has no time for it")
			}
		}
		time.Sleep(max(commandPatience, readPatience) + time.Second)
		for _, c := range append(silent, slow) {
			if !closed(c) {
				t.Error("somebody keeps a place without use")
			}
		}
		if c := box.call(t, "10.0.0.1:4"); closed(c) {
			t.Error("a place is not given back")
		}
		cancel()
		<-done
		o.close()
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
}

// crowdedBox is a callBox whose process has no file descriptors for the first few calls.
type crowdedBox struct {
	callBox
	refused int
}

func (b *crowdedBox) Accept() (net.Conn, error) {
	if b.refused > 0 {
		b.refused--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return b.callBox.Accept()
}

// A monitor port goes on when the process has file descriptors again. It says once that it had
// none.
func TestMonitorPortOutlivesACrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		var said strings.Builder
		h := &Host{o: Options{Namespace: "jobs", Log: slog.New(slog.NewTextHandler(&said, nil))}, registry: reg}
		box := crowdedBox{callBox{make(chan net.Conn)}, 20}
		ctx, cancel := context.WithCancel(t.Context())
		begun, done := time.Now(), make(chan struct{})
		go func() { defer close(done); h.dumps(ctx, &box, "j") }()
		c := box.call(t, "10.0.0.1:1")
		if _, err := io.WriteString(c, "dump\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil {
			t.Error(err)
		}
		if d := time.Since(begun); d < 5*time.Second || d > 20*time.Second {
			t.Errorf("20 attempts took %v", d)
		}
		cancel()
		<-done
		if n := strings.Count(said.String(), "too many open files"); n != 1 {
			t.Errorf("it is said %d times:\n%s", n, said.String())
		}
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestMonitorPort(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	h, err := New(Options{
		Runner: Func(fine), Instance: "10.0.0.1@-@7",
		Jobs: []job.Config{{Name: "j", Shards: 2, MonitorPort: port}, {Name: "k", Shards: 1, MonitorPort: taken.Addr().(*net.TCPAddr).Port}},
		Log:  slog.New(slog.NewTextHandler(&said, nil)),
	})
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	<-h.Ready()
	ask := func(what string) string {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, what); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c)
		if err := errors.Join(err, c.Close()); err != nil {
			t.Errorf("ask for %q: %v", what, err)
		}
		return string(answer)
	}
	for _, what := range []string{"dump\n", "DUMP\r\n"} {
		got := ask(what)
		masked := "\n" + layout.NewJob("", "j").Instance("ip1@-@7") + " | \n"
		if !strings.Contains(got, masked) || strings.Contains(got, "10.0.0.1") || !strings.HasPrefix(got, "/j/wasm | \n") {
			t.Errorf("%q gives\n%s", what, got)
		}
	}
	if got := ask("ruok\n"); got != "" {
		t.Errorf("another word gives %q", got)
	}
	// A client that sends nothing does not keep the server from stopping.
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := errors.Join(<-done, c.Close(), taken.Close()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "the monitor port cannot be opened") {
		t.Errorf("a port that is taken is not told:\n%s", said.String())
	}
}

// The monitor port of a job follows its file: it may change, move to another job, or go with
// its job.
func TestMonitorPortFollowsTheFile(t *testing.T) {
	t.Parallel()
	var ports [2]int
	var held [2]net.Listener
	for i := range ports {
		var err error
		if held[i], err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		ports[i] = held[i].Addr().(*net.TCPAddr).Port
	}
	jobs := func(names ...string) (all []job.Config) {
		for i, name := range names {
			if name != "" {
				all = append(all, job.Config{Name: name, Shards: 1, MonitorPort: ports[i]})
			}
		}
		return all
	}
	h, err := New(Options{Runner: Func(fine), Instance: "10.0.0.1@-@7", Jobs: jobs("j"), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err := errors.Join(err, held[0].Close(), held[1].Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	<-h.Ready()
	dumps := func(port int) string {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return ""
		}
		defer c.Close()
		if _, err := io.WriteString(c, "dump\n"); err != nil {
			return ""
		}
		answer, _ := io.ReadAll(c)
		name, _, _ := strings.Cut(strings.TrimPrefix(string(answer), "/"), "/")
		return name
	}
	for _, names := range [][]string{{"", "j"}, {"k", "j"}, {"j", "k"}, {"i", ""}, {"", ""}} {
		if _, err := h.Reload(t.Context(), jobs(names...), nil); err != nil {
			t.Fatal(err)
		}
		for i, want := range names {
			for dumps(ports[i]) != want { // a new job begins a moment later
				if t.Context().Err() != nil {
					t.Fatal("nobody serves the port")
				}
			}
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
