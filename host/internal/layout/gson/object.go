package gson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Member is one key of an object with a pointer to its value: a *string, *int32, *bool,
// *Object, or a Word.
type Member struct {
	Key      string
	Value    any
	from, to int // where the value is in the text that was read; from is 0 if there is none
}

// Word is a value that is one of several texts. For any other text SetWord returns an
// error that says what was expected.
type Word interface {
	Word() string
	SetWord(text string) error
}

// Object is a list of keys in the order in which ElasticJob writes them.
type Object struct {
	Members []Member
	Begin   func()   // called before an object within another is read
	Unknown []string // names of members that were read and are not in Members
	end     int      // where another member goes in the text that was read
	empty   bool
}

// Append writes the object as Java does.
func (o *Object) Append(b []byte) []byte { return appendValue(b, o) }

// find returns the member with that key, or nil.
func (o *Object) find(key string) *Member {
	i := slices.IndexFunc(o.Members, func(m Member) bool { return m.Key == key })
	if i < 0 {
		return nil
	}
	return &o.Members[i]
}

// appendValue writes the value of a Member.
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case *string:
		return appendText(b, *v)
	case Word:
		return appendText(b, v.Word())
	case *int32:
		return strconv.AppendInt(b, int64(*v), 10)
	case *bool:
		return strconv.AppendBool(b, *v)
	case *Object:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(append(appendText(b, m.Key), ':'), m.Value)
		}
		return append(b, '}')
	}
	return b
}

// appendText writes a text in quotes. It escapes what Java's library escapes: the
// characters that JSON requires, and those that could do harm in a page or a script.
func appendText(b []byte, s string) []byte {
	const short = "\"\"\\\\\tt\bb\nn\rr\ff" // pairs: a character and its letter
	b = append(b, '"')
	for _, c := range s { // bytes that are not UTF-8 become U+FFFD
		switch i := strings.IndexRune(short, c); {
		case i >= 0 && i%2 == 0:
			b = append(b, '\\', short[i+1])
		case c < ' ' || c == '\u2028' || c == '\u2029' || strings.ContainsRune("<>&='", c):
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}
