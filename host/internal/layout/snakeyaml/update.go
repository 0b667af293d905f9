package snakeyaml

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Change replaces the lines of a key; without lines it deletes the key.
type Change struct {
	Key   string
	Lines []byte
}

// Lines returns the lines of an entry, if it has lines of its own.
func (d *Document) Lines(entry int) []byte {
	if d.lines == nil {
		return nil
	}
	from, until := d.span(entry)
	return d.text[from:until]
}

// Update changes the text of a document, and leaves everything else as it is, byte for
// byte. A new key is inserted before the first greater one. Of a repeated key, it changes
// the entry that counts. Update returns false if entries share lines; then the whole text
// must be written anew.
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
			return a.until - b.until // insertions come first
		}
		return strings.Compare(a.Key, b.Key)
	})
	var text []byte
	at := 0
	for _, e := range edits {
		text = append(text, d.text[at:e.from]...)
		if n := len(text); n > 0 && text[n-1] != '\n' && len(e.Lines) > 0 { // the last line may have no end
			text = append(text, '\n')
		}
		text = append(text, e.Lines...)
		at = e.until
	}
	return append(text, d.text[at:]...), true
}

// last returns the index of a key's entry that counts; -1 if there is none.
func (d *Document) last(key string) int {
	for k, e := range slices.Backward(d.Entries) {
		if e.Key == key {
			return k
		}
	}
	return -1
}

// place returns the index of the entry before which a new key is inserted.
func (d *Document) place(key string) int {
	k := slices.IndexFunc(d.Entries, func(e Entry) bool { return e.Key > key })
	if k < 0 {
		return len(d.Entries)
	}
	return k
}

// span returns where the lines of entry k are. Comments and blank lines behind them belong
// to none, so that they stay when the entry is replaced.
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

// findLines finds where the lines of each entry begin. It finds none if a key is not at the
// beginning of its line, or if something other than a comment follows the last entry, such
// as the mark "..." that ends a document.
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

// beginsWith reports whether a line begins with a key, with or without quotes. Otherwise
// something is before the key, such as a tag.
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

// lineBegins returns where each line begins, as the parser counts lines.
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
