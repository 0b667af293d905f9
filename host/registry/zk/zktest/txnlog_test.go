package zktest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// The log of a real server has what a client did, also over a restart.
func TestLog(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(testing.TB) zktest.Release{"debian": zktest.Debian, "newer": zktest.Newer} {
		t.Run(name, func(t *testing.T) { t.Parallel(); testLog(t, release(t)) })
	}
}

func testLog(t *testing.T, release zktest.Release) {
	t.Helper()
	server := zktest.Start(t, release, zktest.Options{})
	r, err := zk.New(zk.Options{Servers: []string{server.Address()}, Digest: "u:p"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("x"), 300_000)
	var last registry.Receipt
	for _, ops := range [][]registry.Op{
		{{Kind: registry.Create, Path: "/a", Data: []byte("one")}},
		{{Kind: registry.CreateEphemeral, Path: "/a/e"}, {Kind: registry.Check, Path: "/a"}, {Kind: registry.Set, Path: "/a", Data: large}},
		{{Kind: registry.CreateEphemeral, Path: "/a/f"}, {Kind: registry.Delete, Path: "/a/f", Version: registry.AnyVersion}},
		{{Kind: registry.Create, Path: "/b"}, {Kind: registry.Create, Path: "/a"}}, // refused
		{{Kind: registry.Set, Path: "/a", Version: registry.AnyVersion}},
	} {
		receipt, err := s.Commit(t.Context(), ops...)
		if err != nil && !errors.Is(err, registry.ErrConflict) {
			t.Fatal(err)
		}
		last = receipt
	}
	id := int64(s.ID())
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := [][]zktest.Change{
		{{Kind: zktest.SessionBegun}},
		{{Kind: zktest.Created, Path: "/a", Data: []byte("one")}},
		{{Kind: zktest.Created, Path: "/a/e", Ephemeral: true}, {Kind: zktest.Checked, Path: "/a"}, {Kind: zktest.Set, Path: "/a", Data: large, Version: 1}},
		{{Kind: zktest.Created, Path: "/a/f", Ephemeral: true}, {Kind: zktest.Deleted, Path: "/a/f"}},
		{{Kind: zktest.Refused, Path: "/b"}, {Kind: zktest.Refused, Code: -110}},
		{{Kind: zktest.Set, Path: "/a", Version: 2}},
		{{Kind: zktest.SessionEnded}, {Kind: zktest.Deleted, Path: "/a/e"}},
	}
	compare := func() {
		t.Helper()
		var got [][]zktest.Change
		zxid := int64(0)
		for _, x := range server.Log() {
			if x.Session != id || x.OnlyChecks() {
				continue
			}
			if x.Zxid <= zxid || time.Since(x.Time).Abs() > time.Hour {
				t.Errorf("transaction %x after %x, at %v", x.Zxid, zxid, x.Time)
			}
			zxid = x.Zxid
			got = append(got, x.Changes)
			if len(got) == len(want)-1 && x.Zxid != last.Revision {
				t.Errorf("transaction %x, the receipt said %x", x.Zxid, last.Revision)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	compare()
	server.Restart()
	compare()
}

// entry returns one entry of a log as a server writes it.
func entry(body []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(adler32.Checksum(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(append(b, body...), 'B')
}

// jute encodes numbers, strings and bytes one after the other.
func jute(fields ...any) []byte {
	var b []byte
	for _, f := range fields {
		switch f := f.(type) {
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(int32(f)))
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(f))
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
		case bool:
			b = append(b, map[bool]byte{true: 1}[f])
		case []byte:
			b = append(b, f...)
		}
	}
	return b
}

func logOf(bodies ...[]byte) []byte {
	b := jute("ZKLG")[4:]
	b = append(b, jute(2, int64(0))...)
	for _, body := range bodies {
		b = append(b, entry(body)...)
	}
	return b
}

// head returns the head of a transaction of session 7.
func head(kind int) []byte { return jute(int64(7), 1, int64(9), int64(1000), kind) }

func with(kind int, fields ...any) []byte { return append(head(kind), jute(fields...)...) }

var acl = jute(1, 31, "world", "anyone")

func TestReadLog_kinds(t *testing.T) {
	t.Parallel()
	digest := jute(4, int64(77))
	for name, c := range map[string]struct {
		body []byte
		want []zktest.Change
	}{
		"create2":          {with(15, "/a", "x", acl, true, 3, digest), []zktest.Change{{Kind: zktest.Created, Path: "/a", Data: []byte("x"), Ephemeral: true}}},
		"container":        {with(19, "/a", -1, acl, 3, digest), []zktest.Change{{Kind: zktest.Created, Path: "/a"}}},
		"time to live":     {with(21, "/a", "x", -1, 3, int64(5), digest), []zktest.Change{{Kind: zktest.Created, Path: "/a", Data: []byte("x")}}},
		"delete container": {with(20, "/a", digest), []zktest.Change{{Kind: zktest.Deleted, Path: "/a"}}},
		"acl":              {with(7, "/a", acl, 4), []zktest.Change{{Kind: zktest.Protected, Path: "/a", Version: 4}}},
		"error":            {with(-1, -112), []zktest.Change{{Kind: zktest.Refused, Code: -112}}},
		"session ends":     {with(-11), []zktest.Change{{Kind: zktest.SessionEnded}}},
		"… with digest":    {with(-11, digest), []zktest.Change{{Kind: zktest.SessionEnded}}},
		"… with nodes":     {with(-11, 1, "/a/long/path", digest), []zktest.Change{{Kind: zktest.SessionEnded}, {Kind: zktest.Deleted, Path: "/a/long/path"}}},
		"unheard of":       {with(99, "whatever"), []zktest.Change{{Kind: zktest.Other}}},
		"refused multi":    {with(14, 2, -1, string(jute(0)), -1, string(jute(-110))), []zktest.Change{{Kind: zktest.Refused}, {Kind: zktest.Refused, Code: -110}}},
		"… passed on":      {with(14, 2, -1, string(jute("/a", "x")), -1, string(jute("/b", 6))), []zktest.Change{{Kind: zktest.Refused}, {Kind: zktest.Refused}}},
		"multi":            {with(14, 2, 2, string(jute("/a")), 13, string(jute("/b", 6))), []zktest.Change{{Kind: zktest.Deleted, Path: "/a"}, {Kind: zktest.Checked, Path: "/b", Version: 5}}},
	} {
		got, err := zktest.ReadLog(bytes.NewReader(append(logOf(c.body), make([]byte, 100)...)))
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		want := zktest.Transaction{Session: 7, Zxid: 9, Time: time.UnixMilli(1000), Changes: c.want}
		if d := cmp.Diff(want, got[0]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestReadLog_damage(t *testing.T) {
	t.Parallel()
	good := logOf(with(2, "/a"), with(2, "/b"))
	flipped := bytes.Clone(good)
	flipped[len(flipped)-3] ^= 1
	for name, c := range map[string]struct {
		log  []byte
		some int // transactions before the damage
		says string
	}{
		"empty":          {nil, 0, zktest.ErrTorn.Error()},
		"other file":     {bytes.Repeat([]byte("x"), 99), 0, "not a transaction log"},
		"cut":            {good[:len(good)-1], 1, zktest.ErrTorn.Error()},
		"cut in a head":  {good[:len(good)-45], 1, zktest.ErrTorn.Error()},
		"half written":   {append(bytes.Clone(good[:len(good)-9]), make([]byte, 99)...), 1, zktest.ErrTorn.Error()},
		"flipped":        {flipped, 1, zktest.ErrTorn.Error()},
		"giant":          {append(logOf(), jute(int64(1), 1<<30)...), 0, "an entry of"},
		"short":          {logOf(with(5, "/a", "x")), 0, "bytes are missing"},
		"long":           {logOf(with(2, "/a", 1)), 0, "4 bytes are left"},
		"giant list":     {logOf(with(14, 1<<30)), 0, "a list of"},
		"giant list two": {logOf(with(1, "/a", "", 1<<30)), 0, "a list of"},
		"part too long":  {logOf(with(14, 1, 2, string(jute("/a", 1)))), 0, "4 bytes are left"},
	} {
		got, err := zktest.ReadLog(bytes.NewReader(c.log))
		if len(got) != c.some || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %d transactions, %v; want %d, and a word about %q", name, len(got), err, c.some, c.says)
		}
	}
}

// No input makes the reader panic or allocate much more than the input's size.
func FuzzReadLog(f *testing.F) {
	f.Add(with(2, "/a"))
	f.Add(with(1, "/a", "x", acl, true, 3))
	f.Add(with(14, 2, 2, string(jute("/a")), 13, string(jute("/b", 5))))
	f.Add(with(-11, 1, "/a/long/path"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return // the end of a log
		}
		got, err := zktest.ReadLog(bytes.NewReader(logOf(body)))
		if (err == nil) != (len(got) == 1) {
			t.Fatalf("%d transactions, %v", len(got), err)
		}
	})
}
