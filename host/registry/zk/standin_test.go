package zk

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

// patience ends a test that waits for something that never comes, in virtual time.
const patience = time.Hour

const (
	opGet      = 4
	opCheck    = 13
	opChildren = 12
	opMulti    = 14
	opPing     = 11
	opClose    = -11
)

// standIn is a service in memory, so that a test in virtual time decides between which two
// steps something happens. It has one session and no nodes: it answers every request as
// successful.
type standIn struct {
	slow time.Duration // before each answer

	mu    sync.Mutex // guards the rest
	held  chan func()
	both  bool // data and children are answered once both were requested
	asked int  // number of requests so far
	away  bool // nobody can connect
	conns []net.Conn
	work  sync.WaitGroup
}

// open returns a session with the stand-in, and a function that returns its events so far.
func (z *standIn) open(t *testing.T) (*session, func() []registry.EventKind) {
	t.Helper()
	r, err := New(Options{Servers: []string{"192.0.2.1"}, Dial: z.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		z.work.Wait()
	})
	var mu sync.Mutex
	var received []registry.EventKind
	s, err := r.Open(t.Context(), func(e registry.Event) {
		mu.Lock()
		defer mu.Unlock()
		received = append(received, e.Kind)
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*session), func() []registry.EventKind {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(received)
	}
}

func (z *standIn) dial(context.Context, string, string) (net.Conn, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.away {
		return nil, syscall.ECONNREFUSED
	}
	ours, theirs := net.Pipe()
	z.conns = append(z.conns, theirs)
	z.work.Go(func() { z.serve(theirs) })
	return ours, nil
}

// cut closes every connection.
func (z *standIn) cut() {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, c := range z.conns {
		_ = c.Close() // it may be closed already
	}
	z.conns = nil
}

// leave closes every connection and refuses others, until comeBack.
func (z *standIn) leave() {
	z.mu.Lock()
	z.away = true
	z.mu.Unlock()
	z.cut()
}

func (z *standIn) comeBack() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.away = false
}

// change sends the event for a node that was set on the newest connection, and returns when it
// has been received.
func (z *standIn) change(t *testing.T, path string) {
	t.Helper()
	z.mu.Lock()
	c := z.conns[len(z.conns)-1]
	z.mu.Unlock()
	const ofEvent, connected = 0xffff_ffff, 3
	event := binary.BigEndian.AppendUint32(nil, ofEvent)
	event = append(event, make([]byte, 8+4)...) // revision and error
	event = binary.BigEndian.AppendUint32(event, uint32(client.EventNodeDataChanged))
	event = binary.BigEndian.AppendUint32(event, connected)
	if _, err := c.Write(withLength(appendPath(event, []byte(path)))); err != nil {
		t.Error(err)
	}
}

// holdWatches delays the answers to watches from now on. The function that it returns waits for
// the next watch and returns a function that answers it.
func (z *standIn) holdWatches(t *testing.T) (next func() (answer func())) {
	z.mu.Lock()
	defer z.mu.Unlock()
	held := make(chan func())
	z.held = held
	return func() func() {
		t.Helper()
		select {
		case answer := <-held:
			return answer
		case <-time.After(patience):
			t.Fatal("no watch is asked for")
			return nil
		}
	}
}

// ask counts a request. It returns the channel for the answers to watches.
func (z *standIn) ask() chan<- func() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked++
	return z.held
}

// answerPairs makes the service answer requests for data and children of a node only once both
// were sent.
func (z *standIn) answerPairs() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.both = true
}

func (z *standIn) pairs() bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.both
}

func (z *standIn) requests() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.asked
}

func (z *standIn) serve(c net.Conn) {
	defer func() { _ = c.Close() }() // it may be closed already
	hello, err := frame(c)
	if err != nil {
		return
	}
	const askedAt = 4 + 8 // after the version and the newest revision seen
	granted := binary.BigEndian.AppendUint32(nil, 0)
	granted = append(granted, hello[askedAt:askedAt+4]...)
	granted = binary.BigEndian.AppendUint64(granted, 1)
	granted = append(granted, 0, 0, 0, 1, 'p')
	<-time.After(z.slow)
	if _, err := c.Write(withLength(granted)); err != nil {
		return
	}
	var first []byte // of two answers
	for {
		request, err := frame(c)
		if err != nil {
			return
		}
		reply := withLength(replyTo(request))
		op := int32(binary.BigEndian.Uint32(request[4:]))
		if z.pairs() && (op == opGet || op == opChildren) {
			if first == nil {
				first = reply
				continue
			}
			reply, first = append(first, reply...), nil
		}
		if held := z.ask(); op == opAddWatch && held != nil {
			held <- func() { _, _ = c.Write(reply) } // the connection may be lost
			continue
		}
		<-time.After(z.slow)
		if _, err := c.Write(reply); err != nil || op == opClose {
			return
		}
	}
}

func replyTo(request []byte) []byte {
	reply := slices.Clone(request[:4])
	reply = binary.BigEndian.AppendUint64(reply, 1)
	reply = binary.BigEndian.AppendUint32(reply, 0)
	switch int32(binary.BigEndian.Uint32(request[4:])) {
	case opSync:
		return append(reply, request[8:]...)
	case opAddWatch:
		return append(reply, 0, 0, 0, 0)
	case opGet:
		return append(append(reply, 0, 0, 0, 0), statOfParent()...)
	case opChildren:
		return append(append(reply, 0, 0, 0, 1, 0, 0, 0, 1, 'a'), statOfParent()...)
	case opMulti: // of one check
		return append(append(reply, 0, 0, 0, opCheck, 0, 0, 0, 0, 0), lastPart...)
	}
	return reply
}

// statOfParent returns the stat of a node with one child.
func statOfParent() []byte {
	const statSize, atChildren = 68, 56
	stat := make([]byte, statSize)
	stat[atChildren+3] = 1
	return stat
}

func frame(c net.Conn) ([]byte, error) {
	size := make([]byte, 4)
	if _, err := io.ReadFull(c, size); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size))
	_, err := io.ReadFull(c, body)
	return body, err
}

func withLength(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}
