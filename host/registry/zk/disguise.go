package zk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	client "github.com/go-zookeeper/zk"
)

// The client library lacks two requests: the recursive watch, and the read of many nodes. But
// it can send a sync, which has a path, and read the answer, which is a string. So these
// requests leave the library as syncs with special paths, and wire converts them.

const (
	// followMark ends the path of a sync that stands for a recursive watch.
	followMark = "/wasmjobd-follow"
	// readMark begins the path of a sync that stands for a read of many nodes. Their paths
	// follow, each with pathEnd after it: the library accepts that character, but no path
	// contains it.
	readMark = "/wasmjobd-read"
	pathEnd  = "\ue000"

	codeNoNode         = -101
	codeNoAuth         = -102
	codeSessionExpired = -112
)

// syncPath returns the path of ZooKeeper's request sync, after the four bytes of its length;
// nil for any other request. The path shows whether the sync stands for a request that the
// client library cannot send.
func syncPath(p []byte) []byte {
	if len(p) < atPath || binary.BigEndian.Uint32(p[atOpcode:]) != opSync {
		return nil
	}
	return p[atPath:]
}

// addWatch returns the request for a recursive watch that the given sync stands for; nil if it
// stands for none. The answer is the number 0, which the library reads as an empty path.
func addWatch(p []byte) []byte {
	path, ok := bytes.CutSuffix(syncPath(p), []byte(followMark))
	if !ok {
		return nil
	}
	if len(path) == 0 {
		path = []byte("/")
	}
	q := request(p, opAddWatch)
	q = appendPath(q, path)
	q = binary.BigEndian.AppendUint32(q, recursive)
	return sized(q)
}

// multiRead returns the request for many nodes that the given sync stands for; nil if it stands
// for none.
func multiRead(p []byte) []byte {
	paths, ok := bytes.CutPrefix(syncPath(p), []byte(readMark+pathEnd))
	if !ok {
		return nil
	}
	q := request(p, opMultiRead)
	for path := range bytes.SplitSeq(bytes.TrimSuffix(paths, []byte(pathEnd)), []byte(pathEnd)) {
		q = part(q, opGetData, false)
		q = appendPath(q, path)
		q = append(q, 0) // no watch
	}
	return sized(part(q, -1, true))
}

// request returns the beginning of a request with the opcode op and the number of p. sized fills
// in its length, the first four bytes.
func request(p []byte, op uint32) []byte {
	return binary.BigEndian.AppendUint32(append(make([]byte, 4, 2*len(p)), p[atNumber:atOpcode]...), op)
}

// appendPath appends a path, with its length before it.
func appendPath(q, path []byte) []byte {
	return append(binary.BigEndian.AppendUint32(q, uint32(len(path))), path...)
}

// part appends the header of one part of a request with several parts, or of the mark of their
// end: the opcode, whether it is the end, and an error, which is -1 in requests.
func part(q []byte, op int32, end bool) []byte {
	last := byte(0)
	if end {
		last = 1
	}
	q = append(binary.BigEndian.AppendUint32(q, uint32(op)), last)
	return binary.BigEndian.AppendUint32(q, 0xffff_ffff)
}

// sized sets the length of a request.
func sized(q []byte) []byte {
	binary.BigEndian.PutUint32(q, uint32(len(q)-4))
	return q
}

// asSync returns the head of an answer to a sync, given the head of an answer to another request.
// The body of the other answer, which follows, becomes the string that a sync answers.
func asSync(head []byte) io.Reader {
	size := binary.BigEndian.Uint32(head)
	q := binary.BigEndian.AppendUint32(nil, size+4)
	q = append(q, head[atNumber:headBytes]...)
	return bytes.NewReader(binary.BigEndian.AppendUint32(q, size-(headBytes-4)))
}

// found is a node without its children.
type found struct {
	data []byte
	stat *client.Stat
	err  error // why it could not be read
}

var errAnswer = errors.New("the answer cannot be understood")

// readMany decodes the answer to a read of n nodes.
func readMany(answer string, n int) ([]found, error) {
	all := make([]found, 0, n)
	for b := (cursor{rest: answer}); ; {
		op, last := int32(b.uint32()), b.byte()
		b.uint32() // of an error, which is repeated below
		switch {
		case b.short:
			return nil, errAnswer
		case last != 0 && len(all) == n:
			return all, nil
		case last != 0, len(all) == n:
			return nil, fmt.Errorf("%w: not of %d nodes", errAnswer, n)
		case op == opGetData:
			data := b.bytes()
			all = append(all, found{data: data, stat: b.stat()})
		case op == -1:
			all = append(all, found{err: errorOf(int32(b.uint32()))})
		default:
			return nil, fmt.Errorf("%w: it has the kind %d", errAnswer, op)
		}
	}
}

// errorOf returns the client library's error for a code of the service.
func errorOf(code int32) error {
	switch code {
	case codeNoNode:
		return client.ErrNoNode
	case codeNoAuth:
		return client.ErrNoAuth
	case codeSessionExpired:
		return client.ErrSessionExpired
	}
	return fmt.Errorf("the service says %d", code)
}

// cursor reads numbers and data from a message. At the end it returns zeros and sets short.
type cursor struct {
	rest  string
	short bool
}

// take returns the next n bytes. If there are fewer, it returns none and sets short.
func (b *cursor) take(n int) string {
	if n < 0 || n > len(b.rest) {
		b.short, b.rest = true, ""
		n = 0
	}
	taken := b.rest[:n]
	b.rest = b.rest[n:]
	return taken
}

// number reads a big-endian number of size bytes.
func (b *cursor) number(size int) (n uint64) {
	for _, c := range []byte(b.take(size)) {
		n = n<<8 | uint64(c)
	}
	return n
}

func (b *cursor) byte() byte     { return byte(b.number(1)) }
func (b *cursor) uint32() uint32 { return uint32(b.number(4)) }
func (b *cursor) int64() int64   { return int64(b.number(8)) }

// bytes reads data after its length; -1 stands for none.
func (b *cursor) bytes() []byte {
	n := int32(b.uint32())
	if n == -1 {
		return nil
	}
	return []byte(b.take(int(n)))
}

// stat reads the state of a node, with its fields in the order of the protocol.
func (b *cursor) stat() *client.Stat {
	return &client.Stat{
		Czxid: b.int64(), Mzxid: b.int64(), Ctime: b.int64(), Mtime: b.int64(),
		Version: int32(b.uint32()), Cversion: int32(b.uint32()), Aversion: int32(b.uint32()),
		EphemeralOwner: b.int64(), DataLength: int32(b.uint32()), NumChildren: int32(b.uint32()), Pzxid: b.int64(),
	}
}
