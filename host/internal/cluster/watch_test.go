package cluster_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"
)

// BenchmarkFollow compares three ways to follow the nodes of a job, five for each item:
// watches that fire once and are set again with each read (once); one recursive watch,
// reading only new and changed nodes (recursive); the same without reading nodes that the
// reader has written itself (own). It writes the owner of each item (reshard), a mark for
// each (begin), and deletes the marks (end). It measures the time from the transaction to
// the last answer, and the requests. docs/RATIONALE.md has the figures.
func BenchmarkFollow(b *testing.B) {
	server := serving(b, time.Second)
	for _, items := range []int{100, 1_000} {
		b.Run(strconv.Itoa(items), func(b *testing.B) { follow(b, server.Address(), items) })
	}
}

func follow(b *testing.B, address string, items int) {
	b.Helper()
	r := newRival(b, address, fmt.Sprint("follow-", items), 0)
	var paths []string
	steps := map[string][]any{}
	for i := range items {
		r.create(r.item(i), "", 0)
		owner, running := r.item(i, "instance"), r.item(i, "running")
		r.create(owner, "", 0)
		for _, mark := range []string{"instance", "running", "misfire", "disabled", "failover"} {
			paths = append(paths, r.item(i, mark))
		}
		steps["reshard"] = append(steps["reshard"], &client.SetDataRequest{Path: owner, Version: -1})
		steps["begin"] = append(steps["begin"], &client.CreateRequest{Path: running, Acl: r.acl, Flags: client.FlagEphemeral})
		steps["end"] = append(steps["end"], &client.DeleteRequest{Path: running, Version: -1})
	}
	costs := map[string][]float64{}
	note := func(what string, n int, took time.Duration) {
		costs["ms-"+what] = append(costs["ms-"+what], ms(took))
		costs["requests-"+what] = append(costs["requests-"+what], float64(n))
	}
	for b.Loop() {
		for _, way := range []string{"once", "recursive", "own"} {
			o := newOutpost(b, address, way != "once", way == "own")
			began := time.Now()
			o.start(r.job, paths)
			n := o.wait(0)
			note("first-"+way, n, time.Since(began))
			for _, step := range []string{"reshard", "begin", "end"} {
				began := time.Now()
				_, err := r.conn.Multi(steps[step]...)
				r.must(err)
				n := o.wait(items)
				note(step+"-"+way, n, time.Since(began))
			}
			o.close()
		}
	}
	b.ReportMetric(0, "ns/op")
	for what, all := range costs {
		b.ReportMetric(middle(all), what)
	}
}

// outpost is a session that follows nodes with requests encoded by hand, because the
// client library has no recursive watches.
type outpost struct {
	b         *testing.B
	conn      net.Conn
	recursive bool
	own       bool // every write is its own
	work      sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	out      *bufio.Writer
	changed  *sync.Cond
	asked    map[int32]question // requests without an answer
	xid      int32
	requests int
	events   int
	over     bool
}

// question is a request about a path.
type question struct {
	op   int32
	path string
}

const (
	opExists      = 3
	opGetData     = 4
	opGetChildren = 8
	opAddWatch    = 106

	eventXid     = -1
	eventDeleted = 2
	errNoNode    = -101
	// headSize is the size of a reply's xid, zxid and error.
	headSize = 16
)

func newOutpost(b *testing.B, address string, recursive, own bool) *outpost {
	b.Helper()
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	o := &outpost{b: b, conn: conn, recursive: recursive, own: own, out: bufio.NewWriter(conn), asked: map[int32]question{}}
	o.changed = sync.NewCond(&o.mu)
	// A new session: protocol version, last zxid, time-out, session and password.
	hello := make([]byte, 4+8+4+8+4+16)
	binary.BigEndian.PutUint32(hello[12:], 20_000)
	binary.BigEndian.PutUint32(hello[24:], 16)
	if _, err := conn.Write(frame(hello)); err != nil {
		b.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if _, err := readFrame(in); err != nil {
		b.Fatal(err)
	}
	o.work.Go(func() { o.read(in) })
	return o
}

func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func readFrame(in *bufio.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return nil, fmt.Errorf("read a reply: %w", err)
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(in, body)
	return body, err
}

// start reads the nodes for the first time.
func (o *outpost) start(root string, paths []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.recursive {
		o.ask(opAddWatch, root)
	}
	for _, p := range paths {
		o.ask(opGetData, p)
	}
	o.flush()
}

// ask sends a request. mu is held.
func (o *outpost) ask(op int32, path string) {
	o.xid++
	o.requests++
	o.asked[o.xid] = question{op, path}
	body := binary.BigEndian.AppendUint32(nil, uint32(o.xid))
	body = binary.BigEndian.AppendUint32(body, uint32(op))
	body = binary.BigEndian.AppendUint32(body, uint32(len(path)))
	body = append(body, path...)
	switch {
	case op == opAddWatch:
		body = append(body, 0, 0, 0, 1) // persistent and recursive
	case o.recursive:
		body = append(body, 0)
	default:
		body = append(body, 1) // with a watch
	}
	_, err := o.out.Write(frame(body))
	o.check(err)
}

func (o *outpost) flush() { o.check(o.out.Flush()) }

func (o *outpost) check(err error) {
	if err != nil && !o.over {
		o.b.Errorf("follow: %v", err)
	}
}

func (o *outpost) read(in *bufio.Reader) {
	for {
		body, err := readFrame(in)
		o.mu.Lock()
		if err != nil || len(body) < headSize {
			o.check(err)
			o.mu.Unlock()
			return
		}
		o.take(int32(binary.BigEndian.Uint32(body)), int32(binary.BigEndian.Uint32(body[12:])), body[headSize:])
		if in.Buffered() == 0 {
			o.flush()
			o.changed.Broadcast()
		}
		o.mu.Unlock()
	}
}

// take handles a reply. mu is held.
func (o *outpost) take(xid, code int32, body []byte) {
	if xid == eventXid {
		kind := binary.BigEndian.Uint32(body)
		path := string(body[12:])
		if strings.HasSuffix(path, "/running") || strings.HasSuffix(path, "/instance") {
			o.events++
		}
		if o.recursive && (o.own || kind == eventDeleted) {
			return // nothing to read, and no watch to set again
		}
		o.ask(opGetData, path)
		return
	}
	q := o.asked[xid]
	delete(o.asked, xid)
	switch {
	case o.recursive || q.op != opGetData:
	case code == errNoNode:
		o.ask(opExists, q.path) // a watch of exists reports its creation
	case strings.HasSuffix(q.path, "/instance"):
		o.ask(opGetChildren, q.path) // only a node that is not ephemeral can have children
	}
}

// wait returns when the given number of events has come and every request was answered.
// It returns the number of requests since the last call.
func (o *outpost) wait(events int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.events < events || len(o.asked) > 0 {
		o.changed.Wait()
	}
	n := o.requests
	o.requests, o.events = 0, 0
	return n
}

func (o *outpost) close() {
	o.mu.Lock()
	o.over = true
	o.mu.Unlock()
	_ = o.conn.Close() // the service ends its session
	o.work.Wait()
}
