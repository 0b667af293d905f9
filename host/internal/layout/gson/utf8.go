package gson

import (
	"strings"
	"unicode/utf8"
)

// validText returns what Java reads from a text. Where bytes are not UTF-8, Java reads one
// U+FFFD for each beginning of a character that is not continued, however many bytes it has.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := decode(s)
		b.WriteRune(r)
		s = s[size:]
	}
	return b.String()
}

// decode returns the first character of s as Java reads it, and how many bytes it takes.
func decode(s string) (r rune, size int) {
	if r, size = utf8.DecodeRuneInString(s); r == utf8.RuneError && size == 1 {
		size = malformed(s)
	}
	return r, size
}

// malformed returns how many bytes at the beginning of s, which are no character, Java
// reads as one U+FFFD: the first, and those that could continue it. low and high bound the
// next byte; the second byte has narrower bounds after some first bytes. Java also reads
// all three bytes of half a surrogate pair as one.
func malformed(s string) int {
	most, low, high := 1, byte(0x80), byte(0xbf)
	switch c := s[0]; {
	case c >= 0xc2 && c <= 0xdf:
		most = 2
	case c >= 0xe0 && c <= 0xef:
		most = 3
	case c >= 0xf0 && c <= 0xf4:
		most = 4
	}
	switch s[0] {
	case 0xe0:
		low = 0xa0
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	n := 1
	for n < most && n < len(s) && s[n] >= low && s[n] <= high {
		n++
		low, high = 0x80, 0xbf
	}
	return n
}
