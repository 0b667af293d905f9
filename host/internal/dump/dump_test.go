package dump

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// open opens a session on the registry of a test.
func open(t *testing.T, r registry.Registry) registry.Session {
	t.Helper()
	s, err := r.Open(t.Context(), func(registry.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put creates a node.
func put(t *testing.T, s registry.Session, path, data string) {
	t.Helper()
	if _, err := s.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: path, Data: []byte(data)}); err != nil {
		t.Fatal(err)
	}
}

func TestDump(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := open(t, reg)
	l := layout.NewJob("jobs", "j")
	at := l.Root()
	above, state := l.StateOf(0)
	put(t, o, "/jobs", "")
	for _, n := range []struct{ path, data string }{
		{at, ""}, {at + "/a", "10.0.0.123 and 10.0.0.12"}, {at + "/a/10.0.0.12@-@7", "x\n\u202ey"}, {at + "/a/b", "999.1.1.1 16:11:13 2001:db8::7 1.2"},
		{at + "/wasm", ""}, {above[0], ""}, {above[1], ""}, {state, "10.0.0.99"}, {at + "/z", ""},
	} {
		put(t, o, n.path, n.data)
	}
	var got strings.Builder
	if err := Write(t.Context(), o, layout.NewJob("jobs", "j"), &got); err != nil {
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
	if err := Write(t.Context(), o, layout.NewJob("jobs", "k"), io.Discard); !errors.Is(err, ErrNoJob) {
		t.Errorf("no such job: %v", err)
	}
	if err := Write(t.Context(), o, l, torn{}); !errors.Is(err, errTorn) {
		t.Errorf("nobody reads: %v", err)
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

type torn struct{}

var errTorn = errors.New("nobody reads")

func (torn) Write([]byte) (int, error) { return 0, errTorn }

// The dump of a job with too many nodes ends nevertheless.
func TestDumpIsBounded(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := open(t, reg)
	put(t, o, "/jobs", "")
	put(t, o, "/jobs/j", "")
	for i := range maxDump>>19 + 4 {
		put(t, o, fmt.Sprintf("/jobs/j/%d", i), strings.Repeat("x", 1<<19))
	}
	var got strings.Builder
	if err := Write(t.Context(), o, layout.NewJob("jobs", "j"), &got); err != nil {
		t.Fatal(err)
	}
	if n := got.Len(); n < maxDump || n > maxDump+1<<20 || !strings.HasSuffix(got.String(), "\n(there is more)\n") {
		t.Errorf("%d bytes", n)
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
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
