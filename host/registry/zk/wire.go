package zk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Offsets and codes of the protocol, as far as they are needed. A request has its length, a
// number, an opcode and the body; the body of a sync is the length of its path and the path. An
// answer has its length, the number of the request, a revision, an error and the body. The
// first answer of a connection has its length, a version, the granted time-out, and the
// session.
const (
	opGetData   = 4
	opSync      = 9
	opMultiRead = 22
	opAddWatch  = 106

	atNumber  = 4
	atOpcode  = 8
	atPath    = 16
	atTimeout = 8
	atSession = 12
	atError   = 16
	// headBytes is the size of the shortest answer, including its length.
	headBytes = 20

	// recursive is the mode of a watch that persists and covers all nodes below.
	recursive = 1
)

var errMoved = errors.New("the server named another session")

// wire is one connection of a session. It bounds how long the server may be silent, because the
// client library waits up to seven session time-outs in a handshake. It reads from the
// handshake what the library does not return, and sends the requests that the library lacks. It
// reads ahead, because the library reads each answer in two pieces.
type wire struct {
	net.Conn
	// hello receives the granted session and time-out; zero means no session. It returns how
	// long the server may be silent from now on.
	hello func(id int64, granted time.Duration) (time.Duration, error)
	// failed receives the error that ended the handshake.
	failed func(error)

	patience time.Duration
	greeted  bool
	in       *bufio.Reader
	answer   io.Reader // the rest of the answer that is being read

	mu    sync.Mutex          // guards reads: requests and answers have a goroutine each
	reads map[uint32]struct{} // numbers of requests that read many nodes
}

// newWire wraps a connection. The server must send something within patience.
func newWire(c net.Conn, patience time.Duration) *wire {
	w := &wire{Conn: c, patience: patience, answer: new(io.LimitedReader), reads: map[uint32]struct{}{}}
	w.in = bufio.NewReaderSize(patient{w}, 64<<10)
	return w
}

// SetDeadline does nothing: Read and Write set their own deadlines.
func (w *wire) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing, see SetDeadline.
func (w *wire) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing, see SetDeadline.
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

// patient reads what has arrived, or waits for data for a bounded time.
type patient struct{ w *wire }

// Read reads what has arrived. If nothing arrives within patience, it fails, and so does the
// connection.
func (r patient) Read(p []byte) (int, error) {
	if err := r.w.Conn.SetReadDeadline(time.Now().Add(r.w.patience)); err != nil {
		return 0, fmt.Errorf("bound a read: %w", err)
	}
	return r.w.Conn.Read(p) //nolint:wrapcheck // io.Reader requires the bare error
}

// Read reads from the present answer, or begins the next one.
func (w *wire) Read(p []byte) (int, error) {
	for {
		n, err := w.answer.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := w.next(); err != nil {
			return 0, err
		}
	}
}

// next begins the next answer: answer then reads all of it. An answer to a read of many nodes
// gets the head of an answer to a sync, since the library takes the request for one.
func (w *wire) next() error {
	head, err := w.in.Peek(headBytes)
	if err == nil && !w.greeted {
		return w.greet(head)
	}
	if err != nil {
		if !w.greeted {
			w.failed(err)
		}
		return err //nolint:wrapcheck // io.Reader requires the bare error
	}
	size := int64(binary.BigEndian.Uint32(head))
	if !w.isManyReply(head) {
		w.answer = io.LimitReader(w.in, 4+size)
		return nil
	}
	w.answer = io.MultiReader(asSync(head), io.LimitReader(w.in, size-(headBytes-4)))
	_, err = w.in.Discard(headBytes)
	return err //nolint:wrapcheck // Discard cannot fail after Peek
}

// greet reads the first answer, which has the session. It ends the connection if hello returns an
// error.
func (w *wire) greet(head []byte) error {
	w.greeted = true
	granted := time.Duration(binary.BigEndian.Uint32(head[atTimeout:])) * time.Millisecond
	patience, err := w.hello(int64(binary.BigEndian.Uint64(head[atSession:])), granted)
	w.patience = patience
	w.answer = io.LimitReader(w.in, 4+int64(binary.BigEndian.Uint32(head)))
	return err
}

// isManyReply reports whether an answer is a successful answer to a request for many nodes.
func (w *wire) isManyReply(head []byte) bool {
	number := binary.BigEndian.Uint32(head[atNumber:])
	w.mu.Lock()
	_, many := w.reads[number]
	delete(w.reads, number)
	w.mu.Unlock()
	return many && binary.BigEndian.Uint32(head[atError:]) == 0 && binary.BigEndian.Uint32(head) >= headBytes-4
}

// Write sends one request: the library neither splits requests nor joins them. After an error
// it closes the connection and returns no error, because the library must learn the loss by
// reading: it would pass the error of a write to the caller as if it were an answer, and after
// an error of one of its own requests on a new connection it would wait for ever.
func (w *wire) Write(p []byte) (int, error) {
	q := p
	if w.greeted {
		if many := multiRead(p); many != nil {
			w.mu.Lock()
			w.reads[binary.BigEndian.Uint32(p[atNumber:])] = struct{}{}
			w.mu.Unlock()
			q = many
		} else if watch := addWatch(p); watch != nil {
			q = watch
		}
	}
	err := w.Conn.SetWriteDeadline(time.Now().Add(w.patience))
	if err == nil {
		_, err = w.Conn.Write(q)
	}
	if err != nil {
		_ = w.Close() // it may be closed already
	}
	return len(p), nil
}
