package zk

import (
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

func TestNew(t *testing.T) {
	t.Parallel()
	one := []string{"one"}
	for _, c := range []struct {
		name string
		o    Options
		want string // in the error; empty for none
	}{
		{"names and addresses", Options{Servers: []string{"one", "two:2182", "192.0.2.1", "[2001:db8::1]:2181", "2001:db8::1"}}, ""},
		{"no servers", Options{}, "no servers"},
		{"an empty server", Options{Servers: []string{""}}, "server"},
		{"no port", Options{Servers: []string{"one:0"}}, "port"},
		{"a list in one", Options{Servers: []string{"one:2181,two:2181"}}, "server"},
		{"a chroot in the list", Options{Servers: []string{"one:2181/chroot"}}, "server"},
		{"chroot", Options{Servers: one, Chroot: "/a/b"}, ""},
		{"the root as chroot", Options{Servers: one, Chroot: "/"}, ""},
		{"a relative chroot", Options{Servers: one, Chroot: "a"}, "chroot"},
		{"digest", Options{Servers: one, Digest: "user:pass:word"}, ""},
		{"half a digest", Options{Servers: one, Digest: "sesame"}, "user:password"},
		{"too short a session", Options{Servers: one, SessionTimeout: time.Millisecond}, "time-out"},
		{"a request above what servers take", Options{Servers: one, MaxRequest: 1 << 20}, "bound"},
	} {
		_, err := New(c.o)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && c.o.Digest != "" && strings.Contains(err.Error(), c.o.Digest) {
			t.Errorf("%s: the error tells the secret", c.name)
		}
	}
}

func TestWithPort(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"one": "one:2181", "one:1": "one:1", "2001:db8::1": "[2001:db8::1]:2181", "[2001:db8::1]": "[2001:db8::1]:2181",
		"[2001:db8::1]:7": "[2001:db8::1]:7",
	} {
		if got, err := withPort(in); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}

func TestValidPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/": true, "/a": true, "/a/b.c": true, "/...": true, "/é": true, "/a b": true,
		"": false, "a": false, "/a/": false, "//a": false, "/a//b": false, "/.": false, "/a/..": false, "/a/../b": false,
		"/a\x00": false, "/\x1f": false, "/\x7f": false, "/\u009f": false, "/\ue000": false, "/\ufff0": false, "/\xff": false,
	} {
		if got := registry.ValidPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

// A server resumes a session that it knows without asking the others, but creates none without
// them.
func TestTakenUpAgainIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Servers: []string{"one"}})
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(r, nil)
	defer s.over()
	asked := time.Now()
	for _, begun := range []time.Time{asked, asked.Add(time.Second)} {
		if _, err := s.hello(begun, 7, time.Second); err != nil {
			t.Fatal(err)
		}
		if got := s.Acknowledged(); !got.Equal(asked) {
			t.Errorf("acknowledged %v after the session was asked for", got.Sub(asked))
		}
	}
}
