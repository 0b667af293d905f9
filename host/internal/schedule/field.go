package schedule

import (
	"math"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/job"
)

// kind names a field by its place in the text.
type kind int

const (
	second kind = iota
	minute
	hour
	dayOfMonth
	month
	dayOfWeek
	year
)

// String returns the field's name in errors.
func (k kind) String() string { return kinds[k].name }

// kinds describes the fields: bounds, the number of values over which a range
// wraps (0: it does not), the largest step after a star, and the names.
var kinds = [7]struct {
	name           string
	min, max, wrap int
	maxStep        int
	names          string
	sample         string // see kind.sample
}{
	{"second", 0, 59, 60, 59, "", ""},
	{"minute", 0, 59, 60, 59, "", ""},
	{"hour", 0, 23, 24, 23, "", ""},
	{"day-of-month", 1, 31, 31, 31, "", "1-31, a list, a range, */n, L, LW, 15W or ?"},
	{"month", 1, 12, 12, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", "1-12 or JAN-DEC, a list, a range, */n or *"},
	{"day-of-week", 1, 7, 7, 7, "SUNMONTUEWEDTHUFRISAT", "1-7 or SUN-SAT, a list, a range, FRIL, 6#3 or ?"},
	{"year", firstYear, 0, 0, math.MaxInt32, "", "years such as 2030, a list, a range, */n or *"},
}

// Quartz keeps * and ? as the numbers 99 and 98 among the values, so those
// numbers mean the same when they are written out.
const (
	anyMark  = 99
	openMark = 98
)

// members are the values of one field.
type members struct {
	bits uint64
	open bool // holds ?
	year bool // a year of the bit set is listed
}

func (m *members) smallest() uint8 { return uint8(bits.TrailingZeros64(m.bits) & 63) }

func (m *members) empty() bool { return m.bits == 0 && !m.year }

// put adds one value to the set of the present field; the number openMark stands for ?.
// Values that no date can have are left out.
func (p *parser) put(v int) {
	set := &p.sets[p.kind]
	switch {
	case p.kind == year:
		p.f.addYear(v)
		set.year = set.year || v >= firstYear && v <= int(p.f.lastYear)
	case v == openMark && (p.kind == dayOfMonth || p.kind == dayOfWeek):
		set.open = true
	case v <= kinds[p.kind].max:
		set.bits |= 1 << v
	}
}

// add adds from, from-to or from-to in steps. A negative to is the end of the field; step 0
// means from alone, -1 that nothing but from was written. A range whose end is before its
// begin goes on at the begin of the field, except in years. from may be anyMark, for all
// values, or openMark, for ?.
func (p *parser) add(from, to, step int) error {
	k := kinds[p.kind]
	every := from == anyMark
	open := from == openMark && (p.kind == dayOfMonth || p.kind == dayOfWeek)
	if p.kind != year && !every && !open && (from < k.min || from > k.max || to > k.max) {
		return p.outOfRange(from, to)
	}
	if !every && step <= 0 {
		p.put(from)
		return nil
	}
	last := k.max
	if p.kind == year {
		last = int(p.f.lastYear)
	}
	if every {
		from, step = k.min, max(step, 1)
	}
	if to < 0 {
		to = last
	}
	wrap := 0
	if to < from {
		if p.kind == year {
			return p.fail(p.word.raw, "runs backwards; write the earlier year first (the last possible one is %d)", last)
		}
		wrap = k.wrap
		to += wrap
	}
	// Larger values do not matter, and the list of a hostile text must stay short.
	to = min(to, max(last, 2*anyMark))
	for v := from; v <= to; v += step {
		// Values beyond the end go on at the begin. Where values count from 1, the last one
		// is wrap itself.
		if wrap == 0 {
			p.put(v)
		} else if v%wrap == 0 && k.min == 1 {
			p.put(wrap)
		} else {
			p.put(v % wrap)
		}
	}
	return nil
}

// piece reads one element of a list, by its first character.
func (p *parser) piece(s string) error {
	switch c := s[0]; {
	case c >= 'A' && c <= 'Z' && s != "L" && s != "LW" && !isLastShift(s):
		return p.name(s)
	case c == '?':
		return p.question(s)
	case c == '*' || c == '/':
		return p.star(s)
	case c == 'L':
		return p.last(s)
	case c >= '0' && c <= '9':
		n, rest, ok := number(s)
		if !ok {
			return p.outOfRange(math.MaxInt32, -1)
		}
		if n == anyMark || n == openMark && (p.kind == dayOfMonth || p.kind == dayOfWeek) {
			p.warn(s, "has a number that Quartz reserves: 99 means * and, as a day, 98 means ?")
		}
		return p.after(n, rest, s)
	}
	return p.fail(s, "starts with a character that Quartz does not know; write %s", p.kind.sample())
}

// isLastShift matches L-, L-n, L-W and L-nW.
func isLastShift(s string) bool {
	rest, ok := strings.CutPrefix(s, "L-")
	rest = strings.TrimLeft(rest, "0123456789")
	return ok && (rest == "" || rest == "W")
}

// question reads ?, which leaves one of the two day fields open.
func (p *parser) question(s string) error {
	if p.kind != dayOfMonth && p.kind != dayOfWeek {
		return p.fail(s, "may stand in day-of-month or day-of-week only; write * or a value")
	}
	// One character after the question mark goes unnoticed in Quartz.
	if len(utf16.Encode([]rune(s))) > 2 { // as Java counts
		return p.fail(s, "has text after the question mark; write ? alone")
	}
	if p.kind == dayOfWeek && !p.lastDay && !p.sets[dayOfMonth].open && p.sets[dayOfMonth].empty() {
		return p.fail(s, "leaves no day at all, for day-of-month is empty; write * there")
	}
	p.ignored(s[1:], s)
	return p.add(openMark, -1, 0)
}

// star reads *, */n and /n. What follows a star without a slash is ignored.
func (p *parser) star(s string) error {
	rest := strings.TrimPrefix(s, "*")
	if !strings.HasPrefix(rest, "/") {
		p.ignored(rest, s)
		return p.add(anyMark, -1, 1)
	}
	step, ok := javaInt(rest[1:])
	if !ok {
		return p.fail(s, "needs a whole number after the slash, and nothing else")
	}
	if limit := kinds[p.kind].maxStep; step > limit {
		return p.fail(s, "has a step above %d", limit)
	}
	return p.add(anyMark, -1, step)
}

// last parses L, LW, L-n or L-nW. In fields other than the day fields Quartz accepts it
// without effect.
func (p *parser) last(s string) error {
	switch p.kind {
	case dayOfWeek:
		p.warn(s, "is every Saturday; write 7L for the last one of the month")
		return p.add(7, 7, 0)
	case dayOfMonth:
	default:
		p.warn(s, "is ignored, for only the day fields know L")
		return nil
	}
	p.lastDay = true
	rest := s[1:]
	if pass, ok := strings.CutPrefix(rest, "-"); ok {
		if pass == "" {
			return p.fail(s, "needs a number of days after the minus, such as L-3")
		}
		n, tail, ok := number("0" + pass) // L-W is L-0W
		if !ok || n > 30 {
			return p.fail(s, "goes back more than 30 days from the last day")
		}
		p.lastShift, rest = n, tail
	}
	p.near = p.near || strings.HasPrefix(rest, "W")
	return nil
}

// javaInt reads a whole text as Java's Integer.parseInt does.
func javaInt(s string) (int, bool) {
	n, err := job.ParseInt(s)
	return n, err == nil
}

// number reads the ASCII digits at the start of s, which has at least one. ok is false if
// the number is too large.
func number(s string) (n int, rest string, ok bool) {
	rest = strings.TrimLeft(s, "0123456789")
	n, ok = javaInt(s[:len(s)-len(rest)])
	return n, rest, ok
}

// stepOrEnd parses the number after a minus or a slash: one digit of any script,
// then ASCII digits. long is true if there was more than one digit.
func stepOrEnd(s string) (n int, rest string, long, ok bool) {
	r, size := utf8.DecodeRuneInString(s)
	d, ok := javaInt(string(r))
	if !ok {
		return 0, s, false, false
	}
	rest = s[size:]
	if rest == "" || rest[0] < '0' || rest[0] > '9' {
		return d, rest, false, true
	}
	n, rest, ok = number(string(rune('0'+d)) + rest)
	return n, rest, true, ok
}
