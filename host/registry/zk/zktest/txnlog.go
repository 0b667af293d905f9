package zktest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrTorn: the log ends within an entry, as it does while its server writes the entry.
var ErrTorn = errors.New("the transaction log ends within an entry")

// Transaction is one entry of a server's transaction log: the service's own record of a write,
// of its session and of its order.
type Transaction struct {
	Session int64
	Zxid    int64
	Time    time.Time // of the server's clock
	Changes []Change  // in their order
}

// OnlyChecks reports whether the transaction only checks: it is a session's sign of life.
func (t Transaction) OnlyChecks() bool {
	return !slices.ContainsFunc(t.Changes, func(c Change) bool { return c.Kind != Checked })
}

// ChangeKind is the kind of a Change.
type ChangeKind uint8

const (
	// Created is a new node of any kind.
	Created ChangeKind = iota + 1
	// Set is new data of a node.
	Set
	// Deleted is the deletion of a node, by a request or by the end of the session that owned
	// it.
	Deleted
	// Checked is the check of a version in a transaction.
	Checked
	// Protected is a new list of permissions.
	Protected
	// SessionBegun and SessionEnded have no path. The ephemeral nodes of a session are deleted
	// in the transaction that ends it.
	SessionBegun
	SessionEnded
	// Refused is an operation that the service refused with all others of its transaction:
	// nothing was written.
	Refused
	// Other is anything else, such as a change of the ensemble.
	Other
)

// Change is one operation of a transaction.
type Change struct {
	Kind      ChangeKind
	Path      string
	Data      []byte // of Created and Set
	Ephemeral bool   // of Created
	Version   int32  // of Set: the new version; of Checked: the version that the node had
	Code      int32  // of Refused: ZooKeeper's error, 0 if another operation caused the refusal
}

// Log returns everything in the server's transaction log. It has all that was answered to
// clients; an entry that the server is writing is left out.
func (s *Server) Log() []Transaction {
	s.t.Helper()
	dir := filepath.Join(s.dir, "data", "version-2")
	names, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		s.t.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int { return int(firstOf(a) - firstOf(b)) })
	var all []Transaction
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			s.t.Fatal(err)
		}
		some, err := ReadLog(f)
		if err != nil && !errors.Is(err, ErrTorn) {
			s.t.Errorf("%s: %v", filepath.Base(name), err)
		}
		all = append(all, some...)
		if err := f.Close(); err != nil {
			s.t.Error(err)
		}
	}
	return all
}

// firstOf returns the zxid in a log's name. A name without one sorts first and makes reading
// fail.
func firstOf(name string) int64 {
	_, hex, _ := strings.Cut(filepath.Base(name), ".")
	zxid, err := strconv.ParseInt(hex, 16, 64)
	if err != nil {
		return 0
	}
	return zxid
}

const (
	logMagic   = 0x5a4b4c47 // ZKLG
	logVersion = 2
	entryEnd   = 'B'
	// maxEntry exceeds what a server accepts in one request plus what it adds.
	maxEntry = 8 << 20
	// digestSize is the size of what a server may append to an entry: a version and a checksum
	// of its tree.
	digestSize = 12
	// errorSize is the size of an error code.
	errorSize = 4
)

// Operations by the numbers in the log.
const (
	opCreate          = 1
	opDelete          = 2
	opSetData         = 5
	opSetACL          = 7
	opCheck           = 13
	opMulti           = 14
	opCreate2         = 15
	opReconfig        = 16
	opCreateContainer = 19
	opDeleteContainer = 20
	opCreateTTL       = 21
	opError           = -1
	opCreateSession   = -10
	opCloseSession    = -11
)

// ReadLog reads one file of a server's transaction log (version-2/log.*), up to the zeros that
// the server writes after the last entry. With an error it returns what came before.
func ReadLog(from io.Reader) ([]Transaction, error) {
	r := bufio.NewReader(from)
	var head [16]byte
	switch _, err := io.ReadFull(r, head[:]); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, ErrTorn
	case err != nil:
		return nil, fmt.Errorf("read the head of a transaction log: %w", err)
	case binary.BigEndian.Uint32(head[:]) != logMagic, binary.BigEndian.Uint32(head[4:]) != logVersion:
		return nil, fmt.Errorf("not a transaction log of version %d: %x", logVersion, head[:8])
	}
	var all []Transaction
	for {
		body, err := readEntry(r)
		if err != nil || body == nil {
			return all, err
		}
		t, err := decodeTransaction(body)
		if err != nil {
			return all, fmt.Errorf("entry %d: %w", len(all)+1, err)
		}
		all = append(all, t)
	}
}

// readEntry returns the bytes of the next entry; nil at the end, where the server has written
// zeros ahead.
func readEntry(r *bufio.Reader) ([]byte, error) {
	var head [12]byte // sum and length
	n, err := io.ReadFull(r, head[:])
	if n == 0 && errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, torn(err)
	}
	sum, size := binary.BigEndian.Uint64(head[:]), binary.BigEndian.Uint32(head[8:])
	if size == 0 {
		return nil, nil
	}
	if size > maxEntry {
		return nil, fmt.Errorf("an entry of %d bytes", size)
	}
	body := make([]byte, size+1)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, torn(err)
	}
	if body[size] != entryEnd || uint64(adler32.Checksum(body[:size])) != sum {
		return nil, ErrTorn
	}
	return body[:size], nil
}

// torn returns ErrTorn for the end of the log, and other errors of reading as they are.
func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTorn
	}
	return fmt.Errorf("read a transaction log: %w", err)
}

// decodeTransaction decodes one entry. Its head has the session, the request, the zxid, the time
// and the operation.
func decodeTransaction(body []byte) (Transaction, error) {
	r := &record{left: body}
	t := Transaction{Session: r.long()}
	r.int() // number of the request in its session
	t.Zxid, t.Time = r.long(), time.UnixMilli(r.long())
	kind := r.int()
	if kind == opMulti {
		// Each part has at least its kind and its length.
		for range r.count(8) {
			kind := r.int()
			part := &record{left: r.buffer()}
			if kind == opError && len(part.left) > errorSize {
				// A member that received the entry from another member's memory marks the
				// operations as refused, but still has their effects.
				t.Changes = append(t.Changes, Change{Kind: Refused})
				continue
			}
			t.Changes = append(t.Changes, part.changes(kind)...)
			r.fail(part.end(0))
		}
		refuseAll(t.Changes)
	} else {
		t.Changes = r.changes(kind)
	}
	return t, r.end(digestSize)
}

// refuseAll marks all operations of a refused transaction, of which the log marks only one.
func refuseAll(all []Change) {
	if !slices.ContainsFunc(all, func(c Change) bool { return c.Kind == Refused }) {
		return
	}
	for i, c := range all {
		all[i] = Change{Kind: Refused, Path: c.Path, Code: c.Code}
	}
}

// record reads Jute, ZooKeeper's encoding of records. After a fault it reads zeros.
type record struct {
	left []byte
	err  error
}

// changes reads the content of one operation, by its number.
func (r *record) changes(kind int32) []Change {
	switch kind {
	case opCreate, opCreate2:
		c := r.created()
		c.Ephemeral = r.bool()
		r.int() // version of the parent's list of children
		return []Change{c}
	case opCreateContainer:
		c := r.created()
		r.int()
		return []Change{c}
	case opCreateTTL:
		c := r.created()
		r.int()
		r.long() // time to live
		return []Change{c}
	case opDelete, opDeleteContainer:
		return []Change{{Kind: Deleted, Path: r.string()}}
	case opSetData, opReconfig:
		return []Change{{Kind: Set, Path: r.string(), Data: r.buffer(), Version: r.int()}}
	case opSetACL:
		c := Change{Kind: Protected, Path: r.string()}
		r.acl()
		c.Version = r.int()
		return []Change{c}
	case opCheck:
		// As for a set, the log has the version that would come next.
		return []Change{{Kind: Checked, Path: r.string(), Version: r.int() - 1}}
	case opCreateSession:
		r.int() // time-out
		return []Change{{Kind: SessionBegun}}
	case opCloseSession:
		return r.ended()
	case opError:
		return []Change{{Kind: Refused, Code: r.int()}}
	}
	r.left = nil // its content is unknown
	return []Change{{Kind: Other}}
}

// created reads the begin of an operation that creates a node, up to its permissions.
func (r *record) created() Change {
	c := Change{Kind: Created, Path: r.string(), Data: r.buffer()}
	r.acl()
	return c
}

// ended reads the end of a session; servers may leave out what it deletes.
func (r *record) ended() []Change {
	all := []Change{{Kind: SessionEnded}}
	if n := len(r.left); n == 0 || n == digestSize {
		return all
	}
	for range r.count(4) {
		all = append(all, Change{Kind: Deleted, Path: r.string()})
	}
	return all
}

// acl skips a list of permissions.
func (r *record) acl() {
	for range r.count(12) {
		r.int()
		r.buffer() // scheme
		r.buffer() // id
	}
}

// fail keeps the first fault, and prevents further reading.
func (r *record) fail(err error) {
	if r.err == nil && err != nil {
		r.err, r.left = err, nil
	}
}

// end returns the fault of the record. It is one if bytes are left, unless there are exactly
// extra of them.
func (r *record) end(extra int) error {
	if n := len(r.left); n != 0 && n != extra {
		r.fail(fmt.Errorf("%d bytes are left", n))
	}
	return r.err
}

// take returns the next n bytes; nil if there are fewer, which is a fault.
func (r *record) take(n int) []byte {
	if r.err != nil || n > len(r.left) {
		r.fail(fmt.Errorf("%d bytes are missing", n-len(r.left)))
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

func (r *record) int() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *record) long() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *record) bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

// count reads the length of a list whose elements have at least least bytes.
func (r *record) count(least int) int {
	n := int(r.int())
	if n > len(r.left)/least {
		r.fail(fmt.Errorf("a list of %d in %d bytes", n, len(r.left)))
		return 0
	}
	return max(n, 0) // -1 stands for none
}

// buffer reads bytes, with their number before them.
func (r *record) buffer() []byte {
	n := int(r.int())
	if n <= 0 {
		return nil // -1 stands for none
	}
	return r.take(n)
}

func (r *record) string() string { return string(r.buffer()) }
