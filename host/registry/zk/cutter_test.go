package zk_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
)

// cutter makes connections that it cuts between two steps of the protocol. A step is "dial", or
// a message ("hello", "watch" or "request") with its progress: "due" before its first byte,
// "sent", or "answered" when the client has the whole answer.
type cutter struct {
	mu   sync.Mutex // guards the rest, and is held while cut runs
	cut  func(step string) bool
	last net.Conn
}

// dial is for Options.Dial.
func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.cuts("dial") {
		return nil, errors.New("cut")
	}
	inner, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = inner
	return &cutConn{Conn: inner, cutter: c, in: bufio.NewReader(inner), under: map[uint32]string{}}, nil
}

func (c *cutter) cuts(step string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut(step)
}

// decide makes f decide from now on where to cut.
func (c *cutter) decide(f func(step string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = f
}

// now cuts at once, between two steps.
func (c *cutter) now() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.last.Close() // it may be closed already
}

type cutConn struct {
	net.Conn
	cutter  *cutter
	in      *bufio.Reader
	answer  []byte // the rest of it
	greeted bool   // the first answer has come
	lost    bool   // cut after the rest of the answer

	mu    sync.Mutex // guards the fields below: requests and answers have a goroutine each
	asked bool       // the first request was sent
	under map[uint32]string
}

const (
	opPing     = 11
	opAddWatch = 106
)

func (c *cutConn) Write(p []byte) (int, error) {
	kind := c.kindOf(p)
	if kind == "" {
		return c.Conn.Write(p)
	}
	if c.cutter.cuts(kind + " due") {
		return 0, errors.Join(io.ErrClosedPipe, c.Close())
	}
	n, err := c.Conn.Write(p)
	if err == nil && c.cutter.cuts(kind+" sent") {
		_ = c.Close() // it may be closed already
	}
	return n, err
}

// kindOf returns the kind of a message; empty for a ping.
func (c *cutConn) kindOf(p []byte) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked {
		c.asked = true
		return "hello"
	}
	kind := "request"
	switch binary.BigEndian.Uint32(p[8:]) {
	case opPing:
		return ""
	case opAddWatch:
		kind = "watch"
	}
	c.under[binary.BigEndian.Uint32(p[4:])] = kind
	return kind
}

func (c *cutConn) Read(p []byte) (int, error) {
	if len(c.answer) == 0 {
		if c.lost {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

func (c *cutConn) next() error {
	size, err := c.in.Peek(4)
	if err != nil {
		return err
	}
	c.answer = make([]byte, 4+binary.BigEndian.Uint32(size))
	if _, err := io.ReadFull(c.in, c.answer); err != nil {
		return err
	}
	kind := "hello"
	if c.greeted {
		c.mu.Lock()
		kind = c.under[binary.BigEndian.Uint32(c.answer[4:])] // empty for an event or a ping
		c.mu.Unlock()
	}
	c.greeted = true
	if kind != "" && c.cutter.cuts(kind+" answered") {
		c.lost = true
		_ = c.Close() // it may be closed already
	}
	return nil
}

// inTurn cuts at each of these steps, when it first occurs after the previous one.
func inTurn(steps ...string) func(string) bool {
	return func(step string) bool {
		if len(steps) == 0 || steps[0] != step {
			return false
		}
		steps = steps[1:]
		return true
	}
}

// atNumbers cuts at the steps with these numbers, and counts all steps.
func atNumbers(count *int, numbers ...int) func(string) bool {
	return func(string) bool {
		*count++
		return slices.Contains(numbers, *count)
	}
}
