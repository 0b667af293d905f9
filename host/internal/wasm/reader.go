package wasm

import (
	"fmt"
	"unicode/utf8"
)

// Kind is the kind of a fault, for callers that branch on it.
type Kind string

// The kinds of a Fault.
const (
	NotWasm     Kind = "not-wasm"    // not a Wasm binary
	IsComponent Kind = "component"   // a component, not a core module
	Damaged     Kind = "damaged"     // truncated or inconsistent
	TooBig      Kind = "too-big"     // exceeds a limit
	Unsupported Kind = "unsupported" // needs an unsupported feature
)

// Fault is the error for a binary that is refused.
type Fault struct {
	Kind  Kind
	Where string // e.g. "function 12"; empty: the whole module
	What  string
}

// Error returns the position and the problem.
func (f *Fault) Error() string {
	if f.Where == "" {
		return f.What
	}
	return f.Where + ": " + f.What
}

// Reader reads a part of a binary. The first error is kept: afterwards nothing is
// left and every read returns zero, so a decoder needs to check Err only once per
// step and cannot read beyond the end.
type Reader struct {
	b   []byte
	pos int
	err *Fault
}

// NewReader returns a Reader of b, which must not change while it is read.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err returns the first error, a *Fault, or nil.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Fail records an error unless there is one already.
func (r *Reader) Fail(kind Kind, format string, args ...any) {
	if r.err == nil {
		r.err = &Fault{Kind: kind, What: fmt.Sprintf(format, args...)}
		r.b = r.b[:r.pos] // nothing is left to read
	}
}

// Pos returns the number of bytes read.
func (r *Reader) Pos() int { return r.pos }

// Left returns the number of bytes left.
func (r *Reader) Left() int { return len(r.b) - r.pos }

// Done reports whether nothing is left, also after an error.
func (r *Reader) Done() bool { return r.pos >= len(r.b) }

// Since returns the bytes read since a position.
func (r *Reader) Since(from int) []byte { return r.b[from:r.pos:r.pos] }

// End fails if bytes are left.
func (r *Reader) End() {
	if r.Left() > 0 {
		r.Fail(Damaged, "%d bytes too many", r.Left())
	}
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if r.pos < len(r.b) {
		r.pos++
		return r.b[r.pos-1]
	}
	return r.truncated()
}

// truncated records that the bytes end too early.
func (r *Reader) truncated() byte {
	r.Fail(Damaged, "unexpected end")
	return 0
}

// Bytes reads n bytes.
func (r *Reader) Bytes(n uint32) []byte {
	if uint64(n) > uint64(r.Left()) {
		r.Fail(Damaged, "%d bytes are declared, but %d remain", n, r.Left())
		return nil
	}
	r.pos += int(n)
	return r.b[r.pos-int(n) : r.pos : r.pos]
}

// U32 reads an unsigned LEB128 number of at most 32 bits.
func (r *Reader) U32() uint32 {
	if r.pos < len(r.b) && r.b[r.pos] < 0x80 { // the usual case
		r.pos++
		return uint32(r.b[r.pos-1])
	}
	return r.longU32()
}

// longU32 is U32 for a number of several bytes. The fifth byte has only four bits left,
// and ends the number.
func (r *Reader) longU32() uint32 {
	var v uint32
	for shift := uint(0); shift < 35; shift += 7 {
		c := r.Byte()
		if shift == 28 && c&0xf0 != 0 {
			r.Fail(Damaged, "a number of more than 32 bits")
			return 0
		}
		v |= uint32(c&0x7f) << shift
		if c&0x80 == 0 {
			return v
		}
	}
	return 0
}

// Signed reads a signed LEB128 number of at most the given bits: 32, 33 (for the type of a
// block) or 64.
func (r *Reader) Signed(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		c := r.Byte()
		v |= int64(c&0x7f) << shift
		if c&0x80 != 0 {
			continue
		}
		if c&0x40 != 0 && shift+7 < 64 { // the sign
			v |= -1 << (shift + 7)
		}
		if over := shift + 7 - bits; over > 0 {
			// The unused bits of the last byte repeat the sign.
			if top := int8(c<<1) >> (7 - over); top != 0 && top != -1 {
				break
			}
		}
		return v
	}
	r.Fail(Damaged, "a number of more than %d bits", bits)
	return 0
}

// Count reads a number of entries. Each entry takes at least size bytes, so a count
// that exceeds the remaining bytes is refused before memory is allocated for it.
func (r *Reader) Count(what string, size, limit int) int {
	n := r.U32()
	if uint64(n)*uint64(size) > uint64(r.Left()) {
		r.Fail(Damaged, "%d %s are declared, but %d bytes remain", n, what, r.Left())
		return 0
	}
	if uint64(n) > uint64(limit) {
		r.Fail(TooBig, "%d %s are declared; the limit is %d", n, what, limit)
		return 0
	}
	return int(n)
}

// Index reads an index below n.
func (r *Reader) Index(what string, n int) uint32 {
	i := r.U32()
	if uint64(i) >= uint64(n) {
		r.Fail(Damaged, "%s %d, but there are %d", what, i, n)
		return 0
	}
	return i
}

// Name reads a name of at most MaxName bytes.
func (r *Reader) Name() string { return string(r.NameBytes()) }

// NameBytes is Name without a copy.
func (r *Reader) NameBytes() []byte {
	p := r.Bytes(r.U32())
	if len(p) > MaxName {
		r.Fail(TooBig, "a name of %d bytes; the limit is %d", len(p), MaxName)
		return nil
	}
	if !utf8.Valid(p) {
		r.Fail(Damaged, "a name that is not UTF-8")
		return nil
	}
	return p
}

// valueType reads a value type.
func valueType(r *Reader) { checkValueType(r, r.Byte()) }

// checkValueType refuses a byte that is not a value type.
func checkValueType(r *Reader, c byte) {
	if !isValue(c) {
		r.Fail(Unsupported, "value type %#x is not supported", c)
	}
}

// reference reads a reference type. For any other byte the engine would read a type
// index and interpret the following bytes differently.
func reference(r *Reader) byte {
	c := r.Byte()
	if !IsReference(c) {
		r.Fail(Unsupported, "a reference to %#x is not supported", c)
	}
	return c
}
