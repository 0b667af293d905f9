package job

import (
	"fmt"
	"math"
	"strings"
	"unicode"
)

// split is Java's String.split for a plain-text separator: empty pieces at the end vanish, and
// a text without separator is its only piece.
func split(s, sep string) []string {
	if !strings.Contains(s, sep) {
		return []string{s}
	}
	pieces := strings.Split(s, sep)
	for len(pieces) > 0 && pieces[len(pieces)-1] == "" {
		pieces = pieces[:len(pieces)-1]
	}
	return pieces
}

// trim is Java's String.trim: it removes blanks and control characters, but no spaces beyond
// ASCII.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// ParseInt is Java's Integer.parseInt: one optional sign, then decimal digits of any script of
// the basic plane, within 32 bits.
func ParseInt(s string) (int, error) {
	digits, negative := s, false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		digits, negative = s[1:], s[0] == '-'
	}
	limit := int64(math.MaxInt32)
	if negative {
		limit++
	}
	n, ok := int64(0), digits != ""
	for _, r := range digits {
		d := digit(r)
		if n = 10*n + d; d < 0 || n > limit {
			ok = false
			break
		}
	}
	if !ok {
		return 0, fmt.Errorf("%s is not a 32-bit integer", quote(s))
	}
	if negative {
		n = -n
	}
	return int(n), nil
}

// digit returns the value of a decimal digit, or -1.
func digit(r rune) int64 {
	if '0' <= r && r <= '9' {
		return int64(r - '0')
	}
	// Java looks at single UTF-16 units, so it accepts no digits beyond the basic plane.
	for _, block := range unicode.Nd.R16 {
		if r <= rune(block.Hi) {
			if r < rune(block.Lo) {
				return -1
			}
			return int64(r-rune(block.Lo)) % 10 // digits of a script are successive
		}
	}
	return -1
}

// quote quotes text from outside for a message, shortened if it is long.
func quote(s string) string {
	const longest = 200
	if len(s) > longest {
		return fmt.Sprintf("%q…", s[:longest])
	}
	return fmt.Sprintf("%q", s)
}
