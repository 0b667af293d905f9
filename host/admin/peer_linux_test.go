package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/host/operator"
)

// The audit names the user who has connected to the socket, by user name if there is one.
func TestAuditNamesTheUserOfASocket(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("left out: only root may become another user")
	}
	s := start(t, "report")
	path := "@wasmjobd-" + rand.Text() // no file, so that every user may connect
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := Serve(ctx, l, NewHandler(Options{Operate: s.operate})); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	nobody := "user 65534"
	if u, err := user.LookupId("65534"); err == nil {
		nobody = u.Username
	}
	verbs := []string{"pause", "resume", "pause"}
	want := []string{"root", nobody, "user 4000000001"}
	for i, uid := range []uint32{0, 65534, 4000000001} {
		c := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return dialAs(uid, path) }}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://wasmjobd/api/v1/jobs/report:"+verbs[i], http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Body.Close(); err != nil || got.StatusCode != http.StatusAccepted {
			t.Fatal(got.Status, err)
		}
		op, err := s.operate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := op.Audit(t.Context(), operator.AuditFilter{Limit: 1})
		if err != nil || len(rows) != 1 || rows[0].Name != want[i] || rows[0].Way != operator.BySocket || !strings.HasSuffix(rows[0].Verb, verbs[i]) {
			t.Errorf("user %d: %+v, %v", uid, rows, err)
		}
		if err := op.Close(); err != nil {
			t.Error(err)
		}
	}
}

// dialAs connects as another user: one thread switches to that user, and ends after this call.
func dialAs(uid uint32, path string) (net.Conn, error) {
	type dialed struct {
		net.Conn
		error
	}
	done := make(chan dialed)
	go func() {
		runtime.LockOSThread() // without an unlock, so that no other goroutine gets the thread
		const keep = ^uintptr(0)
		if _, _, fault := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uintptr(uid), keep); fault != 0 {
			done <- dialed{error: fmt.Errorf("become user %d: %w", uid, fault)}
			return
		}
		c, err := new(net.Dialer).DialContext(context.Background(), "unix", path)
		done <- dialed{c, err}
	}()
	d := <-done
	return d.Conn, d.error
}
