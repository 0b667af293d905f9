package meter

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

func (r *reader) fail(why error, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{why}, args...)...)
	}
}

func (r *reader) unsupported(format string, args ...any) {
	if r.err == nil {
		r.err = &Unsupported{What: fmt.Sprintf(format, args...), Func: -1}
	}
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.pos >= len(r.b) {
		r.fail(ErrDamaged, "it breaks off")
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

// take cuts the next n bytes off.
func (r *reader) take(n uint32) []byte {
	if r.err == nil && uint64(n) > uint64(r.left()) {
		r.fail(ErrDamaged, "a part of %d bytes is declared where %d remain", n, r.left())
	}
	if r.err != nil {
		return nil
	}
	start := r.pos
	r.pos += int(n)
	return r.b[start:r.pos:r.pos]
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
			r.fail(ErrDamaged, "a number of more than 32 bits")
			return 0
		}
		v |= uint32(c&0x7f) << shift
		if c&0x80 == 0 {
			return v
		}
	}
	return 0
}

// signed reads a signed LEB128 number of at most the given bits: 32, 33 or 64.
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if c&0x80 != 0 {
			continue
		}
		if c&0x40 != 0 && shift+7 < 64 {
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
	r.fail(ErrDamaged, "a number of more than %d bits", bits)
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
		r.fail(ErrDamaged, "%d %s are declared where %d bytes remain", n, what, r.left())
		return 0
	}
	if uint64(n) > uint64(most) {
		r.fail(ErrTooBig, "%d %s are declared; %d are taken", n, what, most)
		return 0
	}
	return int(n)
}

// index reads a number that must be below n.
func (r *reader) index(what string, n int) uint32 {
	i := r.u32()
	if r.err == nil && uint64(i) >= uint64(n) {
		r.fail(ErrDamaged, "%s %d, but there are %d", what, i, n)
		return 0
	}
	return i
}

func (r *reader) name() string {
	p := r.take(r.u32())
	if r.err == nil && !utf8.Valid(p) {
		r.fail(ErrDamaged, "a name that is not UTF-8")
	}
	if r.err == nil && len(p) > maxName {
		r.fail(ErrTooBig, "a name of %d bytes; %d are taken", len(p), maxName)
	}
	if r.err != nil {
		return ""
	}
	return string(p)
}

// end fails if something is left over.
func (r *reader) end() {
	if r.err == nil && r.left() != 0 {
		r.fail(ErrDamaged, "%d bytes too many", r.left())
	}
}
