package sandbox

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEscapeBytes is how many bytes of a text one byte of a secret can take: a
// Unicode escape, quoted once more.
const maxEscapeBytes = 12

// decodedText is a text after decoding escapes. It records where in the original
// text each byte comes from.
type decodedText struct {
	text     string
	from, to []int32 // nil: text is the original
}

// span returns where in the original text the bytes from i to j come from.
func (r *decodedText) span(i, j int) (int, int) {
	if r.from == nil {
		return i, j
	}
	return int(r.from[i]), int(r.to[j-1])
}

// decodings returns the decodings of a text in which secrets are searched: the text
// itself, backslash escapes decoded once and twice, and each of these percent-decoded,
// with + as itself and, if spaces is set, as a space.
func decodings(text string, spaces bool) []decodedText {
	all := []decodedText{{text: text}}
	if once, ok := all[0].unescaped(); ok {
		all = append(all, once)
		if twice, ok := once.unescaped(); ok {
			all = append(all, twice)
		}
	}
	for i := range len(all) {
		if r, ok := all[i].percentDecoded(false); ok {
			all = append(all, r)
		}
		if spaces && strings.Contains(all[i].text, "+") {
			r, _ := all[i].percentDecoded(true)
			all = append(all, r)
		}
	}
	return all
}

// decode decodes escapes, which begin with one of the characters in marks. next decodes
// the escape at the begin of a text, and returns its bytes and its length, or 0 if there
// is none. decode returns false if the text has none of the marks.
func (r *decodedText) decode(marks string, next func(string) (string, int)) (decodedText, bool) {
	first := strings.IndexAny(r.text, marks)
	if first < 0 {
		return decodedText{}, false
	}
	d := decodedText{from: make([]int32, 0, len(r.text)), to: make([]int32, 0, len(r.text))}
	var b strings.Builder
	for i := 0; i < len(r.text); {
		bytes, n := r.text[i:i+1], 0
		if strings.IndexByte(marks, r.text[i]) >= 0 {
			if s, k := next(r.text[i:]); k > 0 {
				bytes, n = s, k
			}
		}
		n = max(n, 1)
		lo, hi := r.span(i, i+n) // r itself may be decoded; positions are those in the original
		for range len(bytes) {
			d.from, d.to = append(d.from, int32(lo)), append(d.to, int32(hi))
		}
		b.WriteString(bytes)
		i += n
	}
	d.text = b.String()
	return d, true
}

// percentDecoded decodes %XX, as in URLs and, with spaces, + as a space.
func (r *decodedText) percentDecoded(spaces bool) (decodedText, bool) {
	marks := "%"
	if spaces {
		marks = "%+"
	}
	return r.decode(marks, func(s string) (string, int) {
		if s[0] == '+' {
			return " ", 1
		}
		return codeUnit(s, 1, 2)
	})
}

// unescaped decodes the escapes of JSON, JavaScript, Go, Rust and Python.
func (r *decodedText) unescaped() (decodedText, bool) { return r.decode(`\`, unescape) }

// unescape decodes the backslash escape at the begin of s. It returns its bytes and its
// length, or 0 if there is none.
func unescape(s string) (string, int) {
	if len(s) < 2 {
		return "", 0
	}
	switch s[1] {
	case '\\', '"', '\'', '/':
		return s[1:2], 2
	case 'x':
		return codeUnit(s, 2, 2)
	case 'u':
		if strings.HasPrefix(s[2:], "{") {
			if end := strings.IndexByte(s[:min(len(s), 10)], '}'); end > 3 {
				return character(s[3:end], end+1)
			}
			return "", 0
		}
		return utf16Escape(s)
	case 'U':
		if len(s) >= 10 {
			return character(s[2:10], 10)
		}
	default:
		if i := strings.IndexByte("abfnrtv", s[1]); i >= 0 {
			return "\a\b\f\n\r\t\v"[i : i+1], 2
		}
	}
	return "", 0
}

// codeUnit decodes a byte written in hexadecimal at s[at]. It returns the byte and the
// length of the escape, which ends there.
func codeUnit(s string, at, digits int) (string, int) {
	if len(s) < at+digits {
		return "", 0
	}
	v, err := strconv.ParseUint(s[at:at+digits], 16, 8)
	if err != nil {
		return "", 0
	}
	return string([]byte{byte(v)}), at + digits
}

// character decodes the hexadecimal number of a character. n is the length of the escape.
func character(hex string, n int) (string, int) {
	v, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || v > utf8.MaxRune {
		return "", 0
	}
	return string(rune(v)), n
}

// utf16Escape decodes \uXXXX, or two of them that form a surrogate pair.
func utf16Escape(s string) (string, int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(v), err == nil
	}
	first, ok := unit(s)
	if !ok {
		return "", 0
	}
	if second, ok := unit(s[6:]); ok && utf16.IsSurrogate(first) {
		if c := utf16.DecodeRune(first, second); c != utf8.RuneError {
			return string(c), 12
		}
	}
	return string(first), 6
}

// standard converts a byte of URL-safe base64 to the standard alphabet.
func standard(b byte) byte {
	switch b {
	case '-':
		return '+'
	case '_':
		return '/'
	}
	return b
}

func isBase64(b byte) bool {
	b = standard(b)
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '+' || b == '/'
}

// addBase64 adds the forms of a text within the base64 of a longer one, one for each of
// the three positions in a group of three bytes. It leaves out characters that depend on
// the neighbours.
func (s *textSearch) addBase64(text string) {
	// before is how many bytes of the group are before the text, and partial how many
	// characters contain bits of them.
	for before, partial := range []int{0, 2, 3} {
		coded := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:before] + text))
		whole := (before + len(text)) * 8 / 6
		if whole > partial {
			s.add(coded[partial:whole], before > 0, whole < len(coded))
		}
	}
}
