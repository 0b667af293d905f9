package gson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/job"
)

// maxNesting bounds how deep values of unknown keys may be nested. In Java only the stack
// limits that.
const maxNesting = 100

// reader reads JSON as leniently as the library that Java members use: names
// and texts without quotes or in single ones, comments, semicolons for commas,
// = and => for colons. It refuses what that library refuses.
type reader struct {
	text  string
	pos   int
	depth int
}

// fault returns an error at the present position.
func (r *reader) fault(format string, args ...any) error {
	return fmt.Errorf("at byte %d: %s", r.pos, fmt.Sprintf(format, args...))
}

// next moves to the next byte that is neither blank nor in a comment, and returns it
// without consuming it. At the end it returns io.EOF.
func (r *reader) next() (byte, error) {
	for r.pos < len(r.text) {
		rest := r.text[r.pos:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			r.pos++
		case rest[0] == '#', strings.HasPrefix(rest, "//"):
			if n := strings.IndexAny(rest, "\r\n"); n >= 0 {
				r.pos += n
			} else {
				r.pos = len(r.text)
			}
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return 0, r.fault("the comment has no end")
			}
			r.pos += 2 + n + 2
		default:
			return rest[0], nil
		}
	}
	return 0, io.EOF
}

// object reads an object. For each member it calls value, which must read the member's
// value. end is where a further member would go: behind the last one.
func (r *reader) object(value func(name string) error) (end int, err error) {
	c, err := r.next()
	if err != nil {
		return 0, err
	}
	if c != '{' {
		return 0, r.fault("an object was expected")
	}
	if err := r.enter(); err != nil {
		return 0, err
	}
	end = r.pos
	for first := true; ; first = false {
		c, err := r.next()
		if err != nil {
			return 0, r.unexpected(err)
		}
		if c == '}' {
			r.leave()
			return end, nil
		}
		if !first {
			if c != ',' && c != ';' {
				return 0, r.fault("a comma or the end of the object was expected")
			}
			r.pos++
		}
		name, err := r.name()
		if err != nil {
			return 0, err
		}
		if err := value(name); err != nil {
			return 0, err
		}
		end = r.pos
	}
}

// name reads a member's name and the colon, up to where the value begins.
func (r *reader) name() (string, error) {
	if _, err := r.next(); err != nil {
		return "", r.unexpected(err)
	}
	name, _, err := r.scalar()
	if err != nil {
		return "", err
	}
	c, err := r.next()
	if err != nil {
		return "", r.unexpected(err)
	}
	switch {
	case strings.HasPrefix(r.text[r.pos:], "=>"):
		r.pos += 2
	case c == ':' || c == '=':
		r.pos++
	default:
		return "", r.fault("a colon was expected")
	}
	if _, err := r.next(); err != nil {
		return "", r.unexpected(err)
	}
	return name, nil
}

// unexpected returns a fault for the end of the text, where more is needed. It returns
// other errors as they are.
func (r *reader) unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return r.fault("the text ends too early")
	}
	return err
}

// enter consumes the bracket that begins an object or array, and counts the level.
func (r *reader) enter() error {
	r.pos++
	r.depth++
	if r.depth > maxNesting {
		return r.fault("more than %d levels are nested", maxNesting)
	}
	return nil
}

func (r *reader) leave() {
	r.pos++
	r.depth--
}

// skip skips any value.
func (r *reader) skip() error {
	c, err := r.next()
	if err != nil {
		return r.unexpected(err)
	}
	switch c {
	case '{':
		_, err = r.object(func(string) error { return r.skip() })
	case '[':
		err = r.skipArray()
	default:
		_, _, err = r.scalar()
	}
	return err
}

// skipArray skips an array. Elements may be left out: [,] has two.
func (r *reader) skipArray() error {
	if err := r.enter(); err != nil {
		return err
	}
	for {
		c, err := r.next()
		if err != nil {
			return r.unexpected(err)
		}
		if c != ',' && c != ';' && c != ']' {
			if err := r.skip(); err != nil {
				return err
			}
			if c, err = r.next(); err != nil {
				return r.unexpected(err)
			}
		}
		switch c {
		case ']':
			r.leave()
			return nil
		case ',', ';':
			r.pos++
		default:
			return r.fault("a comma or the end of the array was expected")
		}
	}
}

// scalar reads a quoted text, or an unquoted value: a keyword, a number, or a text.
func (r *reader) scalar() (text string, quoted bool, err error) {
	rest := r.text[r.pos:]
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		text, err = r.quoted(rest[0])
		return text, true, err
	}
	n := strings.IndexAny(rest, "/\\;#={}[]:, \t\f\r\n")
	if n < 0 {
		n = len(rest)
	}
	if n == 0 {
		return "", false, r.fault("a name or a value was expected")
	}
	r.pos += n
	return validText(rest[:n]), false, nil
}

// quoted reads a text up to the quote that ends it, which is the same as the one that
// begins it.
func (r *reader) quoted(quote byte) (string, error) {
	r.pos++
	var b strings.Builder
	for {
		rest := r.text[r.pos:]
		n := strings.IndexAny(rest, `\`+string(quote))
		if n < 0 {
			return "", r.fault("the text has no closing %c", quote)
		}
		b.WriteString(rest[:n])
		r.pos += n + 1
		if rest[n] == quote {
			return validText(b.String()), nil
		}
		c, err := r.escape()
		if err != nil {
			return "", err
		}
		b.WriteRune(c)
	}
}

// escape reads what follows a backslash. A character without a special meaning stands for
// itself.
func (r *reader) escape() (rune, error) {
	c, size := decode(r.text[r.pos:])
	if size == 0 {
		return 0, r.fault("the text ends too early")
	}
	r.pos += size
	switch c {
	case 'u':
		unit, err := r.unit()
		if err != nil || !utf16.IsSurrogate(unit) {
			return unit, err
		}
		before := r.pos
		if strings.HasPrefix(r.text[r.pos:], `\u`) {
			r.pos += 2
			second, err := r.unit()
			if err != nil {
				return 0, err
			}
			if pair := utf16.DecodeRune(unit, second); pair != utf8.RuneError {
				return pair, nil
			}
			r.pos = before // the second escape is a character of its own
		}
		return utf8.RuneError, nil // half of a surrogate pair
	case 't':
		return '\t', nil
	case 'b':
		return '\b', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 'f':
		return '\f', nil
	default:
		return c, nil
	}
}

// unit reads the four hexadecimal digits of an escape: one unit of UTF-16.
func (r *reader) unit() (rune, error) {
	if len(r.text)-r.pos < 4 {
		return 0, r.fault("the text ends too early")
	}
	digits := r.text[r.pos : r.pos+4]
	n, err := strconv.ParseUint(digits, 16, 16)
	if err != nil {
		return 0, r.fault("%q is not four hexadecimal digits", digits)
	}
	r.pos += 4
	return rune(n), nil
}

// keyword reports whether a value without quotes is the keyword; its case
// doesn't matter.
func keyword(text, word string) bool {
	return len(text) == len(word) && strings.EqualFold(text, word)
}

// string reads a text, quoted or not, or a number, which stands for its text.
func (r *reader) string() (string, error) {
	text, quoted, err := r.scalar()
	switch {
	case err != nil:
		return "", err
	case !quoted && (keyword(text, "true") || keyword(text, "false") || keyword(text, "null")):
		return "", r.fault("%s is not a text", text)
	case !quoted && text == "-0": // Java reads it as a number, 0, which has no sign
		return "0", nil
	}
	return text, nil
}

// bool reads true or false, which have no quotes.
func (r *reader) bool() (bool, error) {
	text, quoted, err := r.scalar()
	switch {
	case err != nil:
		return false, err
	case !quoted && keyword(text, "true"):
		return true, nil
	case !quoted && keyword(text, "false"):
		return false, nil
	}
	return false, r.fault("%.100q is not true or false", text)
}

// int reads a 32-bit number, with or without quotes. It may have an exponent, and a
// fraction of zero.
func (r *reader) int() (int32, error) {
	text, quoted, err := r.scalar()
	if err != nil {
		return 0, err
	}
	bad := r.fault("%.100q is not a 32-bit integer", text)
	if !quoted && (text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text))) {
		return 0, bad // Java's other spellings of numbers need quotes
	}
	if n, err := job.ParseInt(text); err == nil {
		return int32(n), nil
	}
	f, ok := javaDouble(text)
	if !ok || f != math.Trunc(f) || f < math.MinInt32 || f > math.MaxInt32 {
		return 0, bad
	}
	return int32(f), nil
}

// javaDouble reads a number as Java's Double.parseDouble does: blanks around it, and one
// letter for the type, are allowed. Go would also allow underscores.
func javaDouble(s string) (float64, bool) {
	s = strings.TrimFunc(s, func(c rune) bool { return c <= ' ' })
	if s != "" && strings.IndexByte("fFdD", s[len(s)-1]) >= 0 {
		s = s[:len(s)-1]
	}
	if strings.Contains(s, "_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}
