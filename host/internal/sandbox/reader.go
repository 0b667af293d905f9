package sandbox

import (
	"fmt"
	"unicode/utf8"
)

// reader walks a piece of a binary. The first problem sticks: after it every
// read answers zero, so that a decoder looks at err once per step and can
// never run past the end.
type reader struct {
	b   []byte
	pos int
	err error
}

func (r *reader) left() int { return len(r.b) - r.pos }

func (r *reader) done() bool { return r.err != nil || r.pos >= len(r.b) }

func (r *reader) fail(reason Reason, format string, args ...any) {
	if r.err == nil {
		r.err = &Refusal{Reason: reason, Problem: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.pos >= len(r.b) {
		r.fail(Damaged, "the module breaks off")
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

func (r *reader) skip(n int) {
	if r.err != nil {
		return
	}
	if n < 0 || n > r.left() {
		r.fail(Damaged, "the module breaks off")
		return
	}
	r.pos += n
}

// take cuts the next n bytes off as a reader of their own.
func (r *reader) take(n uint32) *reader {
	start := r.pos
	if r.err == nil && uint64(n) > uint64(r.left()) {
		r.fail(Damaged, "a part of %d bytes is declared where %d remain", n, r.left())
	}
	if r.err != nil {
		return &reader{err: r.err}
	}
	r.pos += int(n)
	return &reader{b: r.b[start:r.pos:r.pos]}
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	if r.err == nil && r.pos < len(r.b) && r.b[r.pos] < 0x80 { // as most are
		r.pos++
		return uint32(r.b[r.pos-1])
	}
	var v uint32
	for shift := uint(0); shift < 35; shift += 7 {
		c := r.byte()
		if shift == 28 && c&0xf0 != 0 {
			r.fail(Damaged, "a number of more than 32 bits")
			return 0
		}
		v |= uint32(c&0x7f) << shift
		if c&0x80 == 0 {
			return v
		}
	}
	return 0
}

// signed reads a signed LEB128 number of at most the given bits.
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if c&0x80 == 0 {
			if c&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.fail(Damaged, "a number of more than %d bits", bits)
	return 0
}

// count reads how many entries follow. Each takes at least size bytes, so a
// count that the rest cannot hold is refused before anybody makes room for it.
func (r *reader) count(what string, size, most int) int {
	n := r.u32()
	if r.err != nil {
		return 0
	}
	if uint64(n)*uint64(size) > uint64(r.left()) {
		r.fail(Damaged, "%d %s are declared where %d bytes remain", n, what, r.left())
		return 0
	}
	if uint64(n) > uint64(most) {
		r.fail(TooBig, "%d %s are declared; this host takes %d", n, what, most)
		return 0
	}
	return int(n)
}

func (r *reader) name() string {
	n := r.u32()
	if n > maxName && uint64(n) <= uint64(r.left()) {
		r.fail(TooBig, "a name of %d bytes; this host takes %d", n, maxName)
	}
	p := r.take(n)
	if p.err != nil {
		return ""
	}
	if !utf8.Valid(p.b) {
		r.fail(Damaged, "a name that is not UTF-8")
		return ""
	}
	return string(p.b)
}

// end fails if something is left over.
func (r *reader) end(what string) {
	if r.err == nil && r.left() != 0 {
		r.fail(Damaged, "%d bytes too many in %s", r.left(), what)
	}
}
