package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A terminal acts on more than the control characters of ASCII, and some characters change the
// direction in which it shows a text. Names, results and reasons come from guests and from the
// registry.

// steers reports whether a terminal may act on a character, or not show it.
func steers(r rune) bool { return r < ' ' || r == 0x7f || r > 0x7f && !unicode.IsGraphic(r) }

// visibleText makes characters that control a terminal visible, except line ends and tabs.
func visibleText(s string) string {
	odd := func(r rune) bool { return steers(r) && r != '\n' && r != '\t' }
	s = strings.ToValidUTF8(s, "\ufffd")
	if !strings.ContainsFunc(s, odd) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !odd(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// visibleJSON escapes in JSON the characters that control a terminal, without changing its
// meaning. encoding/json escapes only the control characters of ASCII. Outside of strings JSON
// is ASCII, so visibleJSON need not find the strings.
func visibleJSON(b []byte) []byte {
	odd := func(r rune) bool { return steers(r) && r != '\n' && r != '\t' }
	b = bytes.ToValidUTF8(b, []byte("\ufffd"))
	if !bytes.ContainsFunc(b, odd) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if !odd(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) { // as JSON escapes them
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.Bytes()
}

// jsonWriter makes characters visible in what is written to it, whole JSON texts at a time.
type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(p []byte) (int, error) {
	if _, err := w.to.Write(visibleJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
