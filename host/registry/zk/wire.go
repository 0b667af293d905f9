package zk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// What the protocol puts where, as far as it is looked at. A request is its
// length, a number, an opcode and the body; the body of a read is the length of
// its path, the path and the flag that asks for a watch. The first answer of a
// connection is its length, a version, the granted time-out, and the session.
const (
	opExists      = 3
	opGetData     = 4
	opSync        = 9
	opGetChildren = 12
	opAddWatch    = 106

	atOpcode   = 8
	atPath     = 16
	atTimeout  = 8
	atSession  = 12
	helloBytes = 20

	// recursive is the mode of a watch that stays, and is on all below, too.
	recursive = 1
)

var errMoved = errors.New("the server named another session")

// wire is one connection of a session. It bounds how long the other side may
// be silent, because the client library waits up to seven session time-outs in
// a handshake; it reads from the handshake what the library does not tell; and
// it sets the watch flag of reads that are to arm one.
type wire struct {
	net.Conn
	// hello is told the session and the time-out that were granted; zero is
	// no session. It returns how long the server may be silent from now on.
	hello func(id int64, granted time.Duration) (time.Duration, error)
	// reading tells whether a read of path is to set a watch.
	reading func(path []byte) bool
	// failed is told of what ended the handshake.
	failed func(error)

	patience time.Duration
	head     []byte // of the first answer
	greeted  bool
}

// SetDeadline does nothing: Read and Write set their own.
func (w *wire) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing, see SetDeadline.
func (w *wire) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing, see SetDeadline.
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

func (w *wire) Read(p []byte) (int, error) {
	if err := w.Conn.SetReadDeadline(time.Now().Add(w.patience)); err != nil {
		return 0, fmt.Errorf("bound a read: %w", err)
	}
	n, err := w.Conn.Read(p)
	if w.greeted {
		return n, err //nolint:wrapcheck // as io.Reader wants it
	}
	if err != nil {
		w.failed(err)
		return n, err //nolint:wrapcheck // as above
	}
	w.head = append(w.head, p[:min(n, helloBytes-len(w.head))]...)
	if len(w.head) < helloBytes {
		return n, nil
	}
	w.greeted = true
	granted := time.Duration(binary.BigEndian.Uint32(w.head[atTimeout:])) * time.Millisecond
	w.patience, err = w.hello(int64(binary.BigEndian.Uint64(w.head[atSession:])), granted)
	w.head = nil
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Write sends one request: the library never splits them, nor joins two.
func (w *wire) Write(p []byte) (int, error) {
	if err := w.Conn.SetWriteDeadline(time.Now().Add(w.patience)); err != nil {
		return 0, fmt.Errorf("bound a write: %w", err)
	}
	if flag := watchFlag(p); w.greeted && flag > 0 && w.reading(p[atPath:flag]) {
		q := append([]byte(nil), p...) // a Writer leaves p as it is
		q[flag] = 1
		p = q
	}
	if q := addWatch(p); w.greeted && q != nil {
		if _, err := w.Conn.Write(q); err != nil {
			return 0, err //nolint:wrapcheck // as below
		}
		return len(p), nil
	}
	return w.Conn.Write(p) //nolint:wrapcheck // as io.Writer wants it
}

// addWatch makes the request for a recursive watch of a sync whose path has the
// mark; nil if it is none. Its answer is a number, 0, which the library takes
// for the empty path that a sync may be answered with.
func addWatch(p []byte) []byte {
	if len(p) < atPath || binary.BigEndian.Uint32(p[atOpcode:]) != opSync {
		return nil
	}
	path, ok := bytes.CutSuffix(p[atPath:], []byte(followMark))
	if !ok {
		return nil
	}
	if len(path) == 0 {
		path = []byte("/")
	}
	q := binary.BigEndian.AppendUint32(nil, uint32(atPath+len(path)))
	q = append(q, p[4:atOpcode]...) // its number
	q = binary.BigEndian.AppendUint32(q, opAddWatch)
	q = binary.BigEndian.AppendUint32(q, uint32(len(path)))
	q = append(q, path...)
	return binary.BigEndian.AppendUint32(q, recursive)
}

// watchFlag is where the watch flag of a request stands; 0 if it has none.
func watchFlag(p []byte) int {
	if len(p) < atPath {
		return 0
	}
	switch binary.BigEndian.Uint32(p[atOpcode:]) {
	case opExists, opGetData, opGetChildren:
	default:
		return 0
	}
	flag := len(p) - 1
	if int(binary.BigEndian.Uint32(p[atPath-4:])) != flag-atPath {
		return 0
	}
	return flag
}
