package zk

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
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
		if got := validPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

// request is as the library sends it.
func request(op uint32, path string, more ...byte) []byte {
	p := binary.BigEndian.AppendUint32(nil, 0)
	p = binary.BigEndian.AppendUint32(p, 7)
	p = binary.BigEndian.AppendUint32(p, op)
	p = binary.BigEndian.AppendUint32(p, uint32(len(path)))
	p = append(append(p, path...), more...)
	binary.BigEndian.PutUint32(p, uint32(len(p)-4))
	return p
}

func TestWatchFlag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		p    []byte
		path string // that is found; empty for none
	}{
		{"get", request(opGetData, "/a/b", 0), "/a/b"},
		{"list", request(opGetChildren, "/", 0), "/"},
		{"exists", request(opExists, "/a", 0), "/a"},
		{"sync", request(9, "/a"), ""},
		{"delete", request(2, "/a", 0, 0, 0, 0), ""},
		{"a get of another shape", request(opGetData, "/a", 0, 0), ""},
		{"ping", request(11, "")[:12], ""},
	} {
		flag := watchFlag(c.p)
		if (flag > 0) != (c.path != "") || flag > 0 && string(c.p[atPath:flag]) != c.path {
			t.Errorf("%s: flag at %d", c.name, flag)
		}
	}
}

func FuzzWatchFlag(f *testing.F) {
	f.Add(request(opGetData, "/a", 0))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, p []byte) {
		if flag := watchFlag(p); flag != 0 && (flag < atPath || flag >= len(p)) {
			t.Errorf("flag at %d of %d", flag, len(p))
		}
	})
}

func TestWatches(t *testing.T) {
	t.Parallel()
	w := newWatches()
	if w.fire("/a") {
		t.Error("fired what nobody watches")
	}
	w.begin("/a")
	if !w.reading([]byte("/a")) || w.reading([]byte("/b")) {
		t.Error("which requests set a watch")
	}
	count := w.count("/a")
	if w.fire("/a") || w.arm("/a", count) {
		t.Error("an event in front of the reply is of no watch that is known")
	}
	if !w.arm("/a", w.count("/a")) || !w.fire("/a") || w.fire("/a") {
		t.Error("an armed watch fires once")
	}
	w.begin("/a")
	if !w.arm("/a", 0) {
		t.Error("a count outlived its reads")
	}
	w.begin("/a") // while it is armed by an earlier read
	if !w.fire("/a") || w.arm("/a", 0) {
		t.Error("the earlier watch fires, and the read begins anew")
	}
	w.drop("/a")
	w.begin("/b")
	w.arm("/b", 0)
	w.spend()
	if w.fire("/b") || len(w.at) > 0 {
		t.Errorf("left: %v", w.at)
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	var heard []registry.Event
	q := newQueue(func(e registry.Event) { heard = append(heard, e) })
	a, b := registry.Event{Kind: registry.Changed, Path: "/a"}, registry.Event{Kind: registry.Changed, Path: "/b"}
	suspended, ended := registry.Event{Kind: registry.Suspended}, registry.Event{Kind: registry.Ended}
	for _, e := range []registry.Event{a, b, a, suspended, a, ended, b, ended} {
		q.put(e)
	}
	var work sync.WaitGroup
	work.Go(q.run)
	q.settle()
	work.Wait()
	if want := []registry.Event{a, b, suspended, a, ended}; !slices.Equal(heard, want) {
		t.Errorf("heard %v, want %v", heard, want)
	}
}

func TestAddWatch(t *testing.T) {
	t.Parallel()
	sync := func(path string) []byte {
		p := []byte{0, 0, 0, byte(12 + len(path)), 0, 0, 0, 7, 0, 0, 0, opSync, 0, 0, 0, byte(len(path))}
		return append(p, path...)
	}
	for path, want := range map[string]string{
		followMark:         "\x00\x00\x00\x11\x00\x00\x00\x07\x00\x00\x00\x6a\x00\x00\x00\x01/\x00\x00\x00\x01",
		"/ns" + followMark: "\x00\x00\x00\x13\x00\x00\x00\x07\x00\x00\x00\x6a\x00\x00\x00\x03/ns\x00\x00\x00\x01",
		"/ns":              "",
	} {
		if got := string(addWatch(sync(path))); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	get := sync("/ns" + followMark)
	get[atOpcode+3] = opGetData
	if addWatch(get) != nil || addWatch(nil) != nil {
		t.Error("another request was changed")
	}
}
