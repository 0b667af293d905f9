package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

func TestDump(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := operate(t, reg)
	l := layout.NewJob("jobs", "j")
	at := l.Root()
	above, state := l.StateOf(0)
	put(t, o, registry.Create, "/jobs", "")
	for _, n := range []struct{ path, data string }{
		{at, ""}, {at + "/a", "10.0.0.123 and 10.0.0.12"}, {at + "/a/10.0.0.12@-@7", "x\n\u202ey"}, {at + "/a/b", "999.1.1.1 16:11:13 2001:db8::7 1.2"},
		{at + "/wasm", ""}, {above[0], ""}, {above[1], ""}, {state, "10.0.0.99"}, {at + "/z", ""},
	} {
		put(t, o, registry.Create, n.path, n.data)
	}
	var got strings.Builder
	if err := o.Dump(t.Context(), "j", &got); err != nil {
		t.Fatal(err)
	}
	below := func(path string) string { return strings.TrimPrefix(path, "/jobs") }
	want := strings.Join([]string{
		"/j/z | ",
		"/j/wasm | ", below(above[0]) + " | ", below(above[1]) + " | ", below(state) + " | (9 bytes)",
		"/j/a | ip1 and ip2", "/j/a/b | 999.1.1.1 16:11:13 ip3 1.2", "/j/a/ip2@-@7 | x  y", "",
	}, "\n")
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Error(d)
	}
	wantCode(t, "no such job", o.Dump(t.Context(), "k", io.Discard), NotFound)
	wantCode(t, "nobody reads", o.Dump(t.Context(), "j", torn{}), Unavailable)
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

type torn struct{}

func (torn) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// A job with too many nodes has an end all the same.
func TestDumpIsBounded(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := operate(t, reg)
	put(t, o, registry.Create, "/jobs", "")
	put(t, o, registry.Create, "/jobs/j", "")
	for i := range maxDump>>19 + 4 {
		put(t, o, registry.Create, fmt.Sprintf("/jobs/j/%d", i), strings.Repeat("x", 1<<19))
	}
	var got strings.Builder
	if err := o.Dump(t.Context(), "j", &got); err != nil {
		t.Fatal(err)
	}
	if n := got.Len(); n < maxDump || n > maxDump+1<<20 || !strings.HasSuffix(got.String(), "\n(there is more)\n") {
		t.Errorf("%d bytes", n)
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
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
	// Somebody who says nothing does not keep the server from stopping.
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

func FuzzHide(f *testing.F) {
	for _, text := range []string{"10.0.0.1", "1.2.3.4.5.6.7.8", "::1", "fe80::1%eth0", "a:b:c:d:e:f:1:2:3", "255.255.255.256", "\xff1.1.1.1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := masks{}
		got := m.hide(text)
		for ip, mask := range m {
			if !strings.HasPrefix(mask, "ip") {
				t.Errorf("%q became %q", ip, mask)
			}
		}
		if len(m) == 0 && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
