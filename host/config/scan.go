package config

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds on the nesting of a file. The TOML parser recurses for every level, so the scanner
// checks first.
const (
	maxNesting  = 32
	maxKeyParts = 16
)

// mark has the byte offsets of a key and its value. For a table with a header, the value is the
// key in the header.
type mark struct{ key, value int }

// scan finds the position of every key of a TOML text, because the parser returns positions
// only of syntax errors. Paths are spelled by joinKey; elements of arrays have an index, as in
// "dirs[0]".
//
// It assumes a valid text. In an invalid text it finds the keys before the first fault, and
// possibly nonsense after it. deep is the offset at which the nesting exceeds the bounds, or
// -1.
func scan(text string) (marks map[string]mark, deep int) {
	s := &scanner{text: text, deep: -1, marks: map[string]mark{}, tables: map[string]int{}}
	table := ""
	for s.blank(); s.at < len(s.text) && s.deep < 0; s.blank() {
		before := s.at
		if s.next() == '[' {
			table = s.header()
		} else {
			s.pair(table, 0)
		}
		if s.at == before { // invalid text that nothing moves over
			break
		}
	}
	return s.marks, s.deep
}

// scanner is the state of scan.
type scanner struct {
	text   string
	at     int             // offset of the next byte
	deep   int             // as scan returns it
	marks  map[string]mark // by path
	tables map[string]int  // number of elements seen, by array of tables
}

// part is one name of a dotted key.
type part struct {
	name string
	at   int // offset
}

// next returns the byte at the position, or 0 at the end.
func (s *scanner) next() byte {
	if s.at >= len(s.text) {
		return 0
	}
	return s.text[s.at]
}

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.text[s.at:], prefix) }

// skip moves over bytes in set.
func (s *scanner) skip(set string) {
	for s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
	}
}

// until moves to the first byte in set, or to the end.
func (s *scanner) until(set string) {
	if i := strings.IndexAny(s.text[s.at:], set); i >= 0 {
		s.at += i
		return
	}
	s.at = len(s.text)
}

// blank moves over white space, line ends and comments.
func (s *scanner) blank() {
	for {
		s.skip(" \t\r\n")
		if s.next() != '#' {
			return
		}
		s.until("\n")
	}
}

// header reads [a.b] or [[a.b]] and returns the path of the table.
func (s *scanner) header() string {
	array := s.has("[[")
	s.skip("[")
	parts := s.key()
	s.skip(" \t")
	s.skip("]")
	path := s.enter("", parts)
	if array {
		path = fmt.Sprintf("%s[%d]", s.bare(parts), s.tables[s.bare(parts)])
		s.tables[s.bare(parts)]++
	}
	if len(parts) > 0 {
		last := parts[len(parts)-1].at
		s.marks[path] = mark{key: last, value: last}
	}
	return path
}

// enter marks each table on the way from path to the last of parts, unless it was marked before,
// and returns the path of the last one. In an array of tables that is the newest element.
func (s *scanner) enter(path string, parts []part) string {
	for _, p := range parts {
		path = joinKey(path, p.name)
		if _, seen := s.marks[path]; !seen {
			s.marks[path] = mark{key: p.at, value: p.at}
		}
		if n := s.tables[path]; n > 0 {
			path = fmt.Sprintf("%s[%d]", path, n-1)
		}
	}
	return path
}

// bare returns the path of an array of tables without its own index.
func (s *scanner) bare(parts []part) string {
	if len(parts) == 0 {
		return ""
	}
	last := len(parts) - 1
	return joinKey(s.enter("", parts[:last]), parts[last].name)
}

// pair reads key = value below the table at path. depth counts the arrays and inline tables
// around it.
func (s *scanner) pair(path string, depth int) {
	parts := s.key()
	path = s.enter(path, parts)
	s.skip(" \t")
	if len(parts) == 0 || s.next() != '=' {
		s.until("\n")
		return
	}
	s.at++
	s.skip(" \t")
	s.marks[path] = mark{key: parts[len(parts)-1].at, value: s.at}
	s.value(path, depth)
}

// key reads a key of one or more names with dots between them, and stops where the text is none.
func (s *scanner) key() []part {
	var parts []part
	for {
		s.skip(" \t")
		p := part{at: s.at}
		switch s.next() {
		case '"', '\'':
			p.name = s.quoted()
		default:
			s.until(" \t\r\n.=[]{}#,\"'")
			p.name = s.text[p.at:s.at]
			if p.name == "" {
				return parts
			}
		}
		if parts = append(parts, p); len(parts) > maxKeyParts {
			s.deep = p.at
			return parts
		}
		s.skip(" \t")
		if s.next() != '.' {
			return parts
		}
		s.at++
	}
}

// quoted reads a single-line string and returns its content.
func (s *scanner) quoted() string {
	quote := s.next()
	s.at++
	start := s.at
	for s.at < len(s.text) && s.text[s.at] != quote && s.text[s.at] != '\n' {
		if quote == '"' && s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	s.at = min(s.at, len(s.text))
	content := s.text[start:s.at]
	if s.next() == quote {
		s.at++
	}
	if quote == '\'' {
		return content
	}
	return unescape(content)
}

// value moves over the value of the key at path and marks its elements. depth is as in pair.
func (s *scanner) value(path string, depth int) {
	if depth >= maxNesting {
		s.deep = s.at
		return
	}
	switch {
	case s.has(`"""`), s.has(`'''`):
		s.lines()
	case s.next() == '"', s.next() == '\'':
		s.quoted()
	case s.next() == '[':
		s.array(path, depth+1)
	case s.next() == '{':
		s.inline(path, depth+1)
	default:
		s.until(",]}#\n")
	}
}

// lines moves over a multi-line string.
func (s *scanner) lines() {
	quote := s.text[s.at : s.at+3]
	s.at += 3
	for s.at < len(s.text) && !s.has(quote) {
		if quote[0] == '"' && s.next() == '\\' {
			s.at++
		}
		s.at++
	}
	s.at = min(s.at+3, len(s.text))
	// The string may itself end in one or two quotes.
	for range 2 {
		if s.next() == quote[0] {
			s.at++
		}
	}
}

// array moves over an array and marks its elements.
func (s *scanner) array(path string, depth int) {
	s.each(']', func(i int) {
		element := path + "[" + strconv.Itoa(i) + "]"
		s.marks[element] = mark{key: s.at, value: s.at}
		s.value(element, depth)
	})
}

// inline moves over an inline table and marks its keys.
func (s *scanner) inline(path string, depth int) {
	s.each('}', func(int) { s.pair(path, depth) })
}

// each calls do at each element of an array or inline table, up to its end.
func (s *scanner) each(end byte, do func(i int)) {
	s.at++
	for i := 0; s.deep < 0; i++ {
		s.blank()
		if s.at >= len(s.text) || s.next() == end {
			s.at = min(s.at+1, len(s.text))
			return
		}
		before := s.at
		do(i)
		s.blank()
		if s.next() == ',' {
			s.at++
		}
		if s.at == before { // invalid text that nothing moves over
			return
		}
	}
}

// unescape replaces the escapes of a basic TOML string.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if j := strings.IndexByte(`btnfre"\`, s[i]); j >= 0 {
			b.WriteByte("\b\t\n\f\r\x1b\"\\"[j])
			continue
		}
		width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		if code, err := strconv.ParseUint(s[i+1:min(i+1+width, len(s))], 16, 32); err == nil {
			b.WriteRune(rune(code))
			i += width
		}
	}
	return b.String()
}

// joinKey appends a name to a dotted path, in quotes where TOML requires them.
func joinKey(path, name string) string {
	if path == "" {
		return quoteKey(name)
	}
	return path + "." + quoteKey(name)
}

// quoteKey returns a name as TOML spells it in a key: in quotes unless all its bytes may stand bare.
func quoteKey(name string) string {
	bare := name != ""
	for i := 0; i < len(name) && bare; i++ {
		c := name[i]
		bare = c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if !bare {
		return strconv.Quote(name)
	}
	return name
}

// lineIndex converts offsets to lines and columns. It stores the column count of every offset,
// because counting characters from the start of the line each time would take minutes for a
// megabyte in one line.
type lineIndex struct {
	text   string
	starts []int   // offset of each line
	counts []int32 // characters that begin before each offset
}

// indexLines builds the index of a text.
func indexLines(text string) lineIndex {
	x := lineIndex{text: text, starts: []int{0}, counts: make([]int32, len(text)+1)}
	for i := range len(text) {
		x.counts[i+1] = x.counts[i]
		if utf8.RuneStart(text[i]) {
			x.counts[i+1]++
		}
		if text[i] == '\n' {
			x.starts = append(x.starts, i+1)
		}
	}
	return x
}

// position returns the line and, in characters, the column of an offset, both from 1.
func (x lineIndex) position(offset int) (line, col int) {
	offset = max(0, min(offset, len(x.text)))
	line = sort.SearchInts(x.starts, offset+1)
	return line, 1 + int(x.counts[offset]-x.counts[x.starts[line-1]])
}
