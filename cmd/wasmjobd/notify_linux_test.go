package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/metrics"
)

// manager is the socket of a service manager.
type manager struct {
	*net.UnixConn
	path string
}

func newManager(t *testing.T) manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return manager{c, path}
}

// await reads messages until one has a line that matches, and returns it.
func (m manager) await(t *testing.T, pattern string) string {
	t.Helper()
	line := regexp.MustCompile("(?m)^" + pattern + "$")
	var seen []string
	for buf := make([]byte, 4096); ; {
		if err := m.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, err := m.Read(buf)
		if err != nil {
			t.Fatalf("no %q in %q: %v", pattern, seen, err)
		}
		if seen = append(seen, string(buf[:n])); line.MatchString(seen[len(seen)-1]) {
			return seen[len(seen)-1]
		}
	}
}

// A server notifies its service manager when it is ready, reads its files again, drains, and
// that it is alive all the time.
func TestServeNotifiesItsManager(t *testing.T) {
	t.Parallel()
	dir, m := hangupFolder(t), newManager(t)
	d := startServeWith(t, dir, nil, func(c *exec.Cmd) {
		c.Env = append(os.Environ(), "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=150000")
	})
	m.await(t, "READY=1")
	d.until(t, func(e eventLine) bool { return e.Event == host.EventStart })
	m.await(t, "STATUS=leader of 1 of 1 jobs; 1 running")
	m.await(t, "WATCHDOG=1")
	if err := d.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if got := m.await(t, "RELOADING=1"); !regexp.MustCompile(`\nMONOTONIC_USEC=[1-9]\d*$`).MatchString(got) {
		t.Errorf("reloading: %q", got)
	}
	m.await(t, "READY=1")
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.await(t, "STOPPING=1")
	if got := m.await(t, "WATCHDOG=1"); !regexp.MustCompile(`^STATUS=stopping; leader of . of 1 jobs; 1 running\nEXTEND_TIMEOUT_USEC=30000000\n`).MatchString(got) {
		t.Errorf("while it drains: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

// patient is a host that may be stuck.
type patient struct {
	stuck error
	g     host.Gauges
	away  error
}

func (p *patient) Ready() <-chan struct{}      { return nil }
func (p *patient) Gauges() host.Gauges         { return p.g }
func (p *patient) Healthy() error              { return p.away }
func (p *patient) Alive(context.Context) error { return p.stuck }

// A stuck server does not notify the watchdog, so the manager restarts it. A server that is
// only without its registry does.
func TestStuckServerDoesNotFeedTheWatchdog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			p    patient
			want string
		}{
			{patient{away: errors.New("away")}, "STATUS=no registry; leader of 0 of 0 jobs; 0 running\nWATCHDOG=1"},
			{patient{stuck: errors.New("stuck")}, "STATUS=leader of 0 of 0 jobs; 0 running"},
			{patient{g: host.Gauges{Jobs: 3, Loading: 2}}, "STATUS=2 of 3 jobs wait for their modules\nWATCHDOG=1"},
		} {
			to, from := net.Pipe()
			n := &notifier{socket: to, every: time.Second, dogged: true, log: slog.New(slog.DiscardHandler)}
			ended, done := make(chan struct{}), make(chan struct{})
			go func() {
				n.run(t.Context(), ended, &c.p, metrics.New(metrics.Options{}))
				close(done)
			}()
			buf := make([]byte, 1000)
			k, err := from.Read(buf)
			if got := string(buf[:k]); err != nil || got != c.want {
				t.Errorf("%q, want %q (%v)", got, c.want, err)
			}
			close(ended)
			<-done
			_ = from.Close() // of a pipe
		}
	})
}

func TestNotifierOfAnEnvironment(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	for _, c := range []struct {
		env    []string
		dogged bool
		every  time.Duration
	}{
		{nil, false, 0},
		{[]string{"WATCHDOG_USEC=3000000"}, true, time.Second},
		{[]string{"WATCHDOG_USEC=90000000"}, true, notifyEvery},
		{[]string{"WATCHDOG_USEC=1"}, true, time.Millisecond},
		{[]string{"WATCHDOG_USEC=3000000", "WATCHDOG_PID=1"}, false, notifyEvery},
		{[]string{"WATCHDOG_USEC=soon"}, false, notifyEvery},
		{[]string{"WATCHDOG_USEC=-5"}, false, notifyEvery},
	} {
		if c.every == 0 {
			if n := newNotifier(c.env, slog.New(slog.DiscardHandler)); n != nil {
				t.Errorf("%q: there is no socket", c.env)
			}
			continue
		}
		n := newNotifier(append(c.env, "NOTIFY_SOCKET="+m.path), slog.New(slog.DiscardHandler))
		if n == nil {
			t.Fatalf("%q: no notifier", c.env)
		}
		if n.dogged != c.dogged && len(c.env) > 0 || n.dogged && n.every != c.every {
			t.Errorf("%q: %v %v", c.env, n.dogged, n.every)
		}
		if err := n.socket.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := newNotifier([]string{"NOTIFY_SOCKET=" + m.path + ".gone"}, slog.New(slog.DiscardHandler)); n != nil {
		t.Error("a notifier without a socket")
	}
	var none *notifier
	none.reloading()()
	none.run(t.Context(), nil, nil, nil)
}
