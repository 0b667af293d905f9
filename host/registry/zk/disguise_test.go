package zk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

// syncOf returns a sync as the library sends it.
func syncOf(path string) []byte {
	p := binary.BigEndian.AppendUint32(nil, uint32(12+len(path)))
	p = append(p, 0, 0, 0, 7, 0, 0, 0, opSync)
	p = binary.BigEndian.AppendUint32(p, uint32(len(path)))
	return append(p, path...)
}

func TestAddWatch(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		followMark:         "\x00\x00\x00\x11\x00\x00\x00\x07\x00\x00\x00\x6a\x00\x00\x00\x01/\x00\x00\x00\x01",
		"/ns" + followMark: "\x00\x00\x00\x13\x00\x00\x00\x07\x00\x00\x00\x6a\x00\x00\x00\x03/ns\x00\x00\x00\x01",
		"/ns":              "",
	} {
		if got := string(addWatch(syncOf(path))); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	get := syncOf("/ns" + followMark)
	get[atOpcode+3] = opGetData
	if addWatch(get) != nil || addWatch(nil) != nil {
		t.Error("another request was changed")
	}
}

func TestMultiRead(t *testing.T) {
	t.Parallel()
	const end = "\xff\xff\xff\xff\x01\xff\xff\xff\xff"
	for path, want := range map[string]string{
		readMark + pathEnd + "/" + pathEnd + "/é/b" + pathEnd: "\x00\x00\x00\x33\x00\x00\x00\x07\x00\x00\x00\x16" +
			"\x00\x00\x00\x04\x00\xff\xff\xff\xff\x00\x00\x00\x01/\x00" +
			"\x00\x00\x00\x04\x00\xff\xff\xff\xff\x00\x00\x00\x05/é/b\x00" + end,
		readMark:         "",
		readMark + "/a":  "",
		"/a" + readMark:  "",
		"/a" + pathEnd:   "",
		"/a/" + readMark: "",
	} {
		if got := string(multiRead(syncOf(path))); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
		if registry.ValidPath(path) && want != "" {
			t.Errorf("%q is the path of a node", path)
		}
	}
}

const (
	goodPart  = "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + twoBytes
	twoBytes  = "\x00\x00\x00\x02hi"
	emptyPart = "\x00\x00\x00\x04\x00\x00\x00\x00\x00\xff\xff\xff\xff"
	lastPart  = "\xff\xff\xff\xff\x01\xff\xff\xff\xff"
)

func errorPart(code int32) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(code))
	return "\xff\xff\xff\xff\x00" + string(b) + string(b)
}

// numbered returns a stat with a different number in each field.
func numbered() string {
	var b []byte
	for n, size := range []int{8, 8, 8, 8, 4, 4, 4, 8, 4, 4, 8} {
		b = append(append(b, make([]byte, size-1)...), byte(n+1))
	}
	return string(b)
}

func TestReadMany(t *testing.T) {
	t.Parallel()
	stat := &client.Stat{
		Czxid: 1, Mzxid: 2, Ctime: 3, Mtime: 4, Version: 5, Cversion: 6, Aversion: 7, EphemeralOwner: 8,
		DataLength: 9, NumChildren: 10, Pzxid: 11,
	}
	good := goodPart + numbered()
	all, err := readMany(good+errorPart(-101)+emptyPart+numbered()+errorPart(-102)+errorPart(-112)+errorPart(-6)+lastPart, 6)
	if err != nil || string(all[0].data) != "hi" || *all[0].stat != *stat || all[2].data != nil || *all[2].stat != *stat {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range map[int]error{1: client.ErrNoNode, 3: client.ErrNoAuth, 4: client.ErrSessionExpired} {
		if !errors.Is(all[i].err, want) {
			t.Errorf("part %d: %v", i, all[i].err)
		}
	}
	if all[5].err == nil || all[5].stat != nil {
		t.Errorf("an error without a name: %+v", all[5])
	}
	for name, answer := range map[string]string{
		"nothing": "", "no end": good, "too few": lastPart, "too many": good + good + lastPart,
		"cut off": good[:len(good)-1], "another kind": "\x00\x00\x00\x05" + good[4:] + lastPart,
		"longer than it is": strings.Replace(good, twoBytes, "\x7f\xff\xff\xffhi", 1) + lastPart,
		"negative":          strings.Replace(good, twoBytes, "\x80\x00\x00\x00hi", 1) + lastPart,
	} {
		if got, err := readMany(answer, 1); !errors.Is(err, errAnswer) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzReadMany(f *testing.F) {
	f.Add(emptyPart+numbered()+errorPart(-101)+lastPart, 2)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, answer string, n int) {
		n = min(max(n, 0), maxBatch)
		all, err := readMany(answer, n)
		if err == nil && len(all) != n {
			t.Errorf("%d nodes, want %d", len(all), n)
		}
		for _, f := range all {
			if (f.stat == nil) != (f.err != nil) {
				t.Errorf("neither node nor error: %+v", f)
			}
		}
	})
}

// answer returns an answer of the service.
func answer(number, code int32, body string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(number))
	b = binary.BigEndian.AppendUint64(b, 99)
	b = binary.BigEndian.AppendUint32(b, uint32(code))
	return string(b) + body
}

// TestWire lets answers arrive in pieces of every size. The library reads each answer
// unchanged, except that answers for many nodes appear as answers to a sync.
func TestWire(t *testing.T) {
	t.Parallel()
	hello := string(binary.BigEndian.AppendUint32(nil, 36)) + "\x00\x00\x00\x00" + "\x00\x00\x07\xd0" + "\x00\x00\x00\x00\x00\x00\x00\x05" +
		"\x00\x00\x00\x10" + strings.Repeat("p", 16)
	come := []string{hello, answer(-1, 0, "event"), answer(7, 0, "many"), answer(7, 0, "again"), answer(-2, 0, ""), answer(7, -101, "")}
	want := []string{hello, come[1], answer(7, 0, "\x00\x00\x00\x04many"), come[3], come[4], come[5]}
	for _, piece := range []int{1, 3, 20, 21, 1000} {
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			t.Parallel()
			ours, theirs := net.Pipe()
			w := newWire(ours, time.Minute)
			w.hello = func(id int64, granted time.Duration) (time.Duration, error) {
				if id != 5 || granted != 2*time.Second {
					t.Errorf("session %d, granted %v", id, granted)
				}
				return time.Minute, nil
			}
			ended := make(chan error, 1)
			go func() { ended <- serve(theirs, come, piece) }()
			if got := next(t, w); got != want[0] {
				t.Errorf("hello %q", got)
			}
			if _, err := w.Write(syncOf(readMark + pathEnd + "/a" + pathEnd)); err != nil {
				t.Error(err)
			}
			for i := 1; i < len(want); i++ {
				if got := next(t, w); got != want[i] {
					t.Errorf("answer %d: %q, want %q", i, got, want[i])
				}
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if n, err := w.Read(make([]byte, 4)); n > 0 || err == nil {
				t.Errorf("after the last: %d bytes, %v", n, err)
			}
			if err := ours.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// serve answers the handshake, reads a request, and sends all answers.
func serve(c net.Conn, come []string, piece int) error {
	if _, err := io.WriteString(c, come[0]); err != nil {
		return err
	}
	request := make([]byte, len(multiRead(syncOf(readMark+pathEnd+"/a"+pathEnd))))
	if _, err := io.ReadFull(c, request); err != nil {
		return err
	}
	for some := range slices.Chunk([]byte(strings.Join(come[1:], "")), piece) {
		if _, err := c.Write(some); err != nil {
			return err
		}
	}
	return c.Close()
}

// next reads an answer like the library.
func next(t *testing.T, w *wire) string {
	t.Helper()
	size := make([]byte, 4)
	if _, err := io.ReadFull(w, size); err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, binary.BigEndian.Uint32(size))
	if _, err := io.ReadFull(w, rest); err != nil {
		t.Fatal(err)
	}
	return string(size) + string(rest)
}

func TestNextBatch(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("x", maxBatchPaths)
	s := &session{batches: 1}
	for _, path := range append([]string{long, long, "/a"}, slices.Repeat([]string{"/b"}, maxBatch)...) {
		s.wishes = append(s.wishes, wish{path: path})
	}
	for i, want := range []int{1, 1, maxBatch, 1, 0} {
		if got := s.nextBatch(); len(got) != want {
			t.Errorf("batch %d has %d, want %d", i, len(got), want)
		}
	}
	if s.batches != 0 || s.wishes != nil {
		t.Errorf("%d batches, %d wait", s.batches, len(s.wishes))
	}
}
