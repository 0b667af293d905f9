package snakeyaml

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// width is the column after which a text continues on the next line.
const width = 80

// maxKey is the longest name that is written before a colon.
const maxKey = 122

// AppendText appends one or more lines that give a key the value of a text. depth is the
// number of mappings around the key.
func AppendText(b []byte, depth int, key, text string) ([]byte, error) {
	if err := cmp.Or(writable(key), writable(text)); err != nil {
		return nil, fmt.Errorf("%.100q: %w", key, err)
	}
	name := []rune(key)
	if s := shapeOf(name); len(name) == 0 || s.breaks || units(name) > maxKey {
		return nil, fmt.Errorf("%.100q: a key is at most %d signs in one line", key, maxKey)
	}
	w := writer{b: append(b, strings.Repeat("  ", depth)...), column: 2 * depth, indent: 2 * (depth + 1)}
	w.scalar(name, true)
	w.put(":", " ")
	return w.line(text), nil
}

// AppendItem appends one or more lines that add a text to a list at the left margin.
func AppendItem(b []byte, text string) ([]byte, error) {
	if err := writable(text); err != nil {
		return nil, fmt.Errorf("%.100q: %w", text, err)
	}
	w := writer{b: b, indent: 2}
	w.put("-", " ")
	return w.line(text), nil
}

// writable refuses what only another encoding could hold.
func writable(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("it is not UTF-8")
	}
	for _, r := range text {
		if !printable(r) {
			return fmt.Errorf("it has the control character %U", r)
		}
	}
	return nil
}

// AppendWord appends a line that gives a key a value without quotes.
func AppendWord(b []byte, key string, value any) []byte {
	return fmt.Appendf(b, "%s: %v\n", key, value)
}

// writer writes one entry of a mapping.
type writer struct {
	b      []byte
	column int
	indent int  // indent of a continued text
	ended  bool // a line break of the text has ended the line
}

// units returns the number of Java's chars in a text: two for a character above U+FFFF.
func units(text []rune) int {
	n := len(text)
	for _, r := range text {
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// put writes texts, and counts their columns.
func (w *writer) put(texts ...string) {
	for _, t := range texts {
		w.b = append(w.b, t...)
		w.column += units([]rune(t))
	}
}

func (w *writer) runes(text []rune) { w.put(string(text)) }

// next begins the line on which the text continues.
func (w *writer) next() {
	w.b = append(w.b, '\n')
	w.b = append(w.b, strings.Repeat(" ", w.indent)...)
	w.column = w.indent
}

// line writes a text in the style that fits it, and the end of its last line.
func (w *writer) line(text string) []byte {
	if w.scalar([]rune(text), false); !w.ended {
		w.b = append(w.b, '\n')
	}
	return w.b
}

// scalar writes a text in the first style that can hold it. A key stays in one line, so it
// is not split.
func (w *writer) scalar(text []rune, key bool) {
	s := shapeOf(text)
	switch {
	case len(text) == 0:
		w.put("''")
	case s.breaks && s.literal():
		w.literal(text)
	case s.breaks:
		w.double(text, !key)
	case s.plain() && isText(string(text)):
		w.plain(text, !key)
	case s.quoted():
		w.single(text, !key)
	default:
		w.double(text, !key)
	}
}

// plain writes a text without quotes. If split is true and the line is long, it continues
// on the next line in place of a single blank. Each pass of the loop takes a sequence of
// blanks, or of other characters.
func (w *writer) plain(text []rune, split bool) {
	for i := 0; i < len(text); {
		end := i + 1
		for end < len(text) && (text[end] == ' ') == (text[i] == ' ') {
			end++
		}
		if text[i] == ' ' && end == i+1 && w.column > width && split {
			w.next()
		} else {
			w.runes(text[i:end])
		}
		i = end
	}
}

// single writes a text in single quotes. It splits lines as plain does, but not at the ends
// of the text, where a blank would be lost.
func (w *writer) single(text []rune, split bool) {
	w.put("'")
	for i := 0; i < len(text); {
		end := i + 1
		for end < len(text) && (text[end] == ' ') == (text[i] == ' ') {
			end++
		}
		if text[i] == ' ' && end == i+1 && w.column > width && split && i > 0 && end < len(text) {
			w.next()
		} else {
			w.quoted(text[i:end])
		}
		i = end
	}
	w.put("'")
}

// quoted writes a part of a text in single quotes. A quote within it is doubled.
func (w *writer) quoted(text []rune) {
	for i, part := range strings.Split(string(text), "'") {
		if i > 0 {
			w.put("''")
		}
		w.put(part)
	}
}

var escapes = map[rune]string{
	'\x00': "0", '\a': "a", '\b': "b", '\t': "t", '\n': "n", '\v': "v", '\f': "f", '\r': "r", '\x1b': "e",
	'"': `"`, '\\': `\`, '\u0085': "N", '\u00a0': "_", '\u2028': "L", '\u2029': "P",
}

// double writes a text in double quotes. If split is true, a long line may end behind a
// backslash, and go on in the next line. It does so at the same characters as SnakeYAML,
// which counts in Java's chars, so a character above U+FFFF counts twice.
func (w *writer) double(text []rune, split bool) {
	w.put(`"`)
	total, at := units(text), 0 // in Java's chars
	start := 0                  // what is behind it has not been written
	flush := func(end int) {
		if start < end {
			w.runes(text[start:end])
			start = end
		}
	}
	for i, r := range text {
		if strings.ContainsRune("\"\\\u0085\u2028\u2029\ufeff", r) || r < ' ' || r > '~' {
			flush(i)
			switch name, ok := escapes[r]; {
			case ok:
				w.put(`\`, name)
			case printable(r):
				w.put(string(r))
			default:
				w.put(`\u`, strconv.FormatInt(int64(r)+0x10000, 16)[1:]) // with four digits
			}
			start = i + 1
		}
		if r >= 0x10000 {
			at++
		}
		waiting := -1 // it has been written
		if start <= i {
			waiting = units(text[start:i])
		}
		// SnakeYAML ends a line at a blank, or where it has just written all before this
		// character.
		if 0 < at && at < total-1 && (r == ' ' || start >= i) && w.column+waiting > width && split {
			flush(i)
			w.put(`\`)
			w.next()
			// A blank at the beginning of a line would not count.
			if start < len(text) && text[start] == ' ' {
				w.put(`\`)
			}
		}
		at++
	}
	flush(len(text))
	w.put(`"`)
}

// literal writes a text of several lines, each in a line of its own, below a sign. A 2
// behind the sign gives the indent if the first line does not show it. A minus says that
// the text does not end in a line break, a plus that it ends in several or consists of one.
func (w *writer) literal(text []rune) {
	w.put("|")
	if text[0] == ' ' || isBreak(text[0]) {
		w.put("2")
	}
	switch n := len(text); {
	case !isBreak(text[n-1]):
		w.put("-")
	case n == 1 || isBreak(text[n-2]):
		w.put("+")
	}
	w.b = append(w.b, '\n')
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && isBreak(text[end]) {
			end++
		}
		w.b = append(w.b, string(text[i:end])...)
		if i = end; i == len(text) {
			w.ended = true
			return
		}
		for end < len(text) && !isBreak(text[end]) {
			end++
		}
		w.b = append(append(w.b, strings.Repeat(" ", w.indent)...), string(text[i:end])...)
		i = end
	}
}
