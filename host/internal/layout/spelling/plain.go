package spelling

import (
	"encoding/json"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
)

// plain reads JSON in the form that this release writes: without blanks, with keys in one
// order and texts in ASCII. Every server reads a record whenever it changes, and
// encoding/json takes several times as long. A value in any other form is odd, and
// encoding/json reads it.
type plain struct {
	data []byte
	at   int
	odd  bool
}

// decodePlain is jsonvalue.Decode, faster where data is plain. read reads plain data into
// v.
func decodePlain[T any](data []byte, v *T, read func(*plain)) error {
	if plainly(data, read) {
		return nil
	}
	*v = *new(T)
	return jsonvalue.Decode(data, v)
}

// plainly reports whether read consumes all of data. If not, the result of read is
// meaningless.
func plainly(data []byte, read func(*plain)) bool {
	p := plain{data: data}
	read(&p)
	return !p.odd && p.at == len(data)
}

// take skips a text if it comes next, and reports whether it did.
func (p *plain) take(text string) bool {
	if rest := p.data[p.at:]; len(rest) < len(text) || string(rest[:len(text)]) != text {
		return false
	}
	p.at += len(text)
	return true
}

// want skips a text that must come next. If another comes, it sets odd, so that
// encoding/json reads the value.
func (p *plain) want(text string) {
	if !p.take(text) {
		p.odd = true
	}
}

// key skips a key of an object if it comes next, with the comma before it, and reports
// whether it did. The argument includes the quotes and the colon.
func (p *plain) key(spelled string) bool {
	before := p.at
	if before > 0 && p.data[before-1] != '{' && !p.take(",") {
		return false
	}
	if !p.take(spelled) {
		p.at = before
		return false
	}
	return true
}

// list reads a list. For each element it calls element, which must read it.
func (p *plain) list(element func()) {
	if p.take("null") || p.take("[]") {
		return
	}
	for p.want("["); !p.odd; p.want(",") {
		if element(); p.take("]") {
			return
		}
	}
}

// maxDigits digits never overflow an int64.
const maxDigits = 18

// number reads an integer. For any other number, such as one with a fraction, it sets odd,
// so that encoding/json reads the value.
func (p *plain) number() int64 {
	negative := p.take("-")
	first, n := p.at, int64(0)
	for ; p.at < len(p.data) && '0' <= p.data[p.at] && p.data[p.at] <= '9'; p.at++ {
		n = 10*n + int64(p.data[p.at]-'0')
	}
	if digits := p.at - first; digits == 0 || digits > maxDigits || digits > 1 && p.data[first] == '0' {
		p.odd = true
	}
	if negative {
		return -n
	}
	return n
}

// numbers reads a list of exactly as many numbers as into has.
func (p *plain) numbers(into []int64) {
	k := 0
	p.list(func() {
		n := p.number()
		if k < len(into) {
			into[k] = n
		}
		k++
	})
	p.odd = p.odd || k != len(into)
}

// text reads a quoted text. If it has characters outside ASCII, or has no end, text sets
// odd, so that encoding/json reads the value.
func (p *plain) text() string {
	p.want(`"`)
	first, escaped := p.at, false
	for ; p.at < len(p.data) && p.data[p.at] != '"'; p.at++ {
		switch c := p.data[p.at]; {
		case c < ' ' || c > '~':
			p.odd = true
		case c == '\\':
			escaped = true
			p.at++ // the escaped character may be a quote
		}
	}
	if p.odd || p.at >= len(p.data) {
		p.odd, p.at = true, min(p.at, len(p.data)) // the last character may be a backslash with nothing behind it
		return ""
	}
	p.at++
	if !escaped {
		return string(p.data[first : p.at-1])
	}
	var s string
	if json.Unmarshal(p.data[first-1:p.at], &s) != nil { // with its quotes
		p.odd = true
	}
	return s
}

// byItem reads a number for each item, in ranges. For the packed form it sets odd, so that
// encoding/json reads the value.
func (p *plain) byItem() byItem {
	var room [4][3]int64
	r := room[:0]
	p.list(func() {
		var one [3]int64
		p.numbers(one[:])
		r = append(r, one)
	})
	s, err := spread(r)
	p.odd = p.odd || err != nil
	return s
}
