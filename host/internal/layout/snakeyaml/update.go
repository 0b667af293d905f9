package snakeyaml

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Change gives a key other lines; none: the key goes.
type Change struct {
	Key   string
	Lines []byte
}

// Lines are those of an entry, if it has lines of its own.
func (d *Document) Lines(entry int) []byte {
	if d.lines == nil {
		return nil
	}
	from, until := d.span(entry)
	return d.text[from:until]
}

// Update changes the text of a document. Everything else stays as it is, byte for byte.
// A key that is not there comes before the first that is greater. Update reports false
// if the keys have no lines of their own: then the whole text has to be written anew.
func (d *Document) Update(changes []Change) ([]byte, bool) {
	if d.lines == nil {
		return nil, false
	}
	type edit struct {
		from, until int
		Change
	}
	var edits []edit
	for _, c := range changes {
		e := edit{Change: c}
		if k := d.last(c.Key); k >= 0 {
			e.from, e.until = d.span(k)
		} else {
			e.from = d.lines[d.place(c.Key)]
			e.until = e.from
		}
		edits = append(edits, e)
	}
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		if a.until != b.until {
			return a.until - b.until // what is new comes before what it stands at
		}
		return strings.Compare(a.Key, b.Key)
	})
	var text []byte
	at := 0
	for _, e := range edits {
		text = append(text, d.text[at:e.from]...)
		if n := len(text); n > 0 && text[n-1] != '\n' && len(e.Lines) > 0 {
			text = append(text, '\n')
		}
		text = append(text, e.Lines...)
		at = e.until
	}
	return append(text, d.text[at:]...), true
}

// last is the entry of a key that counts; -1: there is none.
func (d *Document) last(key string) int {
	for k, e := range slices.Backward(d.Entries) {
		if e.Key == key {
			return k
		}
	}
	return -1
}

// place is the entry before which a new key comes.
func (d *Document) place(key string) int {
	k := slices.IndexFunc(d.Entries, func(e Entry) bool { return e.Key > key })
	if k < 0 {
		return len(d.Entries)
	}
	return k
}

// span is where the lines of an entry are, without comments and blank lines behind them.
func (d *Document) span(k int) (from, until int) {
	from, until = d.lines[k], d.lines[k+1]
	for until > from {
		line := bytes.TrimSuffix(d.text[from:until], []byte("\n"))
		begin := from + bytes.LastIndexByte(line, '\n') + 1
		if begin == from {
			break
		}
		if last := d.text[begin:until]; last[0] != '#' && len(bytes.TrimSpace(last)) > 0 {
			break
		}
		until = begin
	}
	return from, until
}

// findLines finds where the lines of each entry begin. There are none if a key does not
// begin its line as it is read, or if something that is no comment stands behind all.
func (d *Document) findLines(root *yaml.Node) {
	begins := lineBegins(d.text)
	var lines []int
	before := 0
	for i := 0; i < len(root.Content); i += 2 {
		n := root.Content[i]
		if n.Column != 1 || n.Line <= before || n.Line > len(begins) || !beginsWith(d.text[begins[n.Line-1]:], n) {
			return
		}
		before = n.Line
		lines = append(lines, begins[n.Line-1])
	}
	if len(lines) == 0 || bytes.Contains(d.text[lines[len(lines)-1]:], []byte("\n...")) {
		return
	}
	d.lines = append(lines, len(d.text))
}

// beginsWith reports whether a line begins with a key, or with its quotes.
func beginsWith(line []byte, key *yaml.Node) bool {
	begin := key.Value + ":"
	if key.Style == yaml.SingleQuotedStyle {
		begin = "'"
	}
	if key.Style == yaml.DoubleQuotedStyle {
		begin = `"`
	}
	return bytes.HasPrefix(line, []byte(begin))
}

// lineBegins is where each line begins, as the parser counts them.
func lineBegins(text []byte) []int {
	begins := []int{0}
	for k := 0; k < len(text); {
		r, n := utf8.DecodeRune(text[k:])
		k += n
		if r == '\r' && k < len(text) && text[k] == '\n' {
			k++
		}
		if r == '\r' || isBreak(r) {
			begins = append(begins, k)
		}
	}
	return begins
}
