package snakeyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxBytes is the largest text that is read. In the worst case the parser needs 200
	// times as much memory.
	MaxBytes = 512 << 10
	// maxDepth bounds how deep values may be nested.
	maxDepth = 8
)

// Document is a mapping that was read.
type Document struct {
	Entries []Entry // in the order of the text; the last entry of a key counts
	text    []byte
	lines   []int // where lines begin in text, and its end; nil: some entries share a line
}

// Entry is a key with its value.
type Entry struct {
	Key          string
	Line, Column int // of the key, from 1
	Value        *Value
}

// Kind is what a value is.
type Kind int

// The kinds of values. A Kept value may be of any kind but Scalar, and was not read.
const (
	Scalar Kind = iota
	List
	Mapping
	Kept
)

// Value is one value.
type Value struct {
	Kind         Kind
	Line, Column int
	Text         string // of a scalar
	Plain        bool   // without quotes, so it may be something other than a text
	List         []*Value
	Entries      []Entry
}

// Read reads a text that is one mapping with texts as keys. It refuses anchors, aliases and
// tags; lists and mappings of kept keys may have tags, and are not read. An empty text is no
// document: nil without error. An error has line and column.
func Read(text []byte, kept ...string) (*Document, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("line 1, column 1: %d bytes are more than %d", len(text), MaxBytes)
	}
	if k := invalidAt(text); k >= 0 {
		line := 1 + bytes.Count(text[:k], []byte("\n"))
		return nil, fmt.Errorf("line %d, column %d: it is not UTF-8", line, k-bytes.LastIndexByte(text[:k], '\n'))
	}
	plain, stand := withoutMarks(text)
	root, err := parse(plain)
	if err != nil || root == nil {
		return nil, err
	}
	r := reader{kept: kept, text: text, lines: lineBegins(text), stand: stand}
	v, err := r.value(root, 0)
	switch {
	case err != nil:
		return nil, err
	case v.Kind != Mapping && v.Text == "" && v.Plain: // only comments
		return nil, nil
	case v.Kind != Mapping:
		return nil, at(root, "expected keys with values")
	}
	d := &Document{Entries: v.Entries, text: text}
	if root.Style&yaml.FlowStyle == 0 {
		d.findLines(root)
	}
	if d.lines == nil && slices.ContainsFunc(d.Entries, func(e Entry) bool { return e.Value.Kind == Kept }) {
		return nil, at(root, "write each of the outermost keys in a line of its own, without braces")
	}
	return d, nil
}

// invalidAt returns where a text is not UTF-8; -1 if it is.
func invalidAt(text []byte) int {
	for k := 0; k < len(text); {
		r, n := utf8.DecodeRune(text[k:])
		if r == utf8.RuneError && n == 1 {
			return k
		}
		k += n
	}
	return -1
}

// parse returns the outermost node of a text; nil if there is none.
func parse(text []byte) (root *yaml.Node, err error) {
	defer func() {
		if fault := recover(); fault != nil { // the library may panic, and a foreign text must not end the program
			root, err = nil, fmt.Errorf("line 1, column 1: it cannot be read: %.200v", fault)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	if err := d.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, placed(text, err)
	}
	switch err := d.Decode(&more); {
	case err == nil:
		return nil, at(&more, "expected one document, there are more")
	case !errors.Is(err, io.EOF):
		return nil, placed(text, err)
	}
	if len(document.Content) != 1 {
		return nil, nil
	}
	return document.Content[0], nil
}

// at returns an error with the line and column of a node.
func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d, column %d: %w", max(n.Line, 1), max(n.Column, 1), fmt.Errorf(format, args...))
}

var lineOf = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s+)?(?:line (\d+): )?(.*)`)

// placed adds a column to an error of the parser, which names only a line: the column where
// that line's text begins.
func placed(text []byte, err error) error {
	m := lineOf.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(m[1])
	line = max(line, 1)
	lines := bytes.SplitAfterN(text, []byte("\n"), line+1)
	column := 1
	if line <= len(lines) {
		column += len(lines[line-1]) - len(bytes.TrimLeft(lines[line-1], " "))
	}
	return fmt.Errorf("line %d, column %d: %.200s", line, column, m[2])
}

type reader struct {
	kept  []string
	text  []byte
	lines []int  // where lines begin
	stand string // stands for U+FEFF in the parser's nodes; empty: nothing does
	// line, column and at are the position of the node before this one; columns count
	// characters.
	line, column, at int
}

// afterTab reports whether there is a tab among the blanks before a node. SnakeYAML allows
// only spaces there. Nodes come in the order of the text, so afterTab goes on from the node
// before if that is on the same line.
func (r *reader) afterTab(n *yaml.Node) bool {
	if n.Line < 1 || n.Line > len(r.lines) {
		return false
	}
	begin := r.lines[n.Line-1]
	if n.Line != r.line || n.Column < r.column {
		r.line, r.column, r.at = n.Line, 1, begin
	}
	for ; r.column < n.Column && r.at < len(r.text); r.column++ {
		_, size := utf8.DecodeRune(r.text[r.at:])
		r.at += size
	}
	before := r.text[begin:r.at]
	return bytes.IndexByte(before[len(bytes.TrimRight(before, " \t")):], '\t') >= 0
}

// value reads a node. depth is the number of nodes around it.
func (r *reader) value(n *yaml.Node, depth int) (*Value, error) {
	v := &Value{Line: n.Line, Column: n.Column}
	switch {
	case depth > maxDepth:
		return nil, at(n, "it is more than %d deep", maxDepth)
	case n.Kind == yaml.AliasNode:
		return nil, at(n, "an alias is not taken: write the value out; a text that begins with * needs quotes")
	case n.Anchor != "":
		return nil, at(n, "an anchor is not taken: leave &%.100s out", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		return nil, at(n, "a tag is not taken: leave %.100s out", n.Tag)
	case r.afterTab(n):
		return nil, at(n, "a tab stands before it: write spaces")
	}
	switch n.Kind {
	case yaml.ScalarNode:
		v.Text = n.Value
		if r.stand != "" {
			v.Text = strings.ReplaceAll(v.Text, r.stand, mark)
		}
		v.Plain = n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	case yaml.SequenceNode:
		v.Kind = List
		for _, c := range n.Content {
			one, err := r.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			v.List = append(v.List, one)
		}
	case yaml.MappingNode:
		v.Kind = Mapping
		return v, r.entries(v, n, depth)
	default:
		return nil, at(n, "expected a value")
	}
	return v, nil
}

// entries reads the keys of a mapping, n, into v. The values of kept keys are not read if
// they are outermost.
func (r *reader) entries(v *Value, n *yaml.Node, depth int) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := r.value(n.Content[i], depth+1)
		switch {
		case err != nil:
			return err
		case key.Kind != Scalar || key.Plain && !isText(key.Text):
			return at(n.Content[i], "expected a key that is a text: write it in quotes")
		}
		e := Entry{Key: key.Text, Line: key.Line, Column: key.Column, Value: &Value{Kind: Kept, Line: n.Content[i+1].Line, Column: n.Content[i+1].Column}}
		if value := n.Content[i+1]; depth > 0 || value.Kind == yaml.ScalarNode || !slices.Contains(r.kept, e.Key) {
			if e.Value, err = r.value(value, depth+1); err != nil {
				return err
			}
		}
		v.Entries = append(v.Entries, e)
	}
	return nil
}

// String returns the value as a text; set is false if it is null. Numbers and words are
// texts as they are written.
func (v *Value) String() (text string, set bool, err error) {
	if v.Kind != Scalar {
		return "", false, v.fault("expected a text")
	}
	if v.Plain && null.MatchString(v.Text) {
		return "", false, nil
	}
	return v.Text, true, nil
}

// Printed returns the value as Java prints it where any type is allowed. It refuses numbers
// and moments that Java prints in another form.
func (v *Value) Printed() (string, error) {
	text, set, err := v.String()
	switch {
	case err != nil:
		return "", err
	case set && (!v.Plain || isText(text)):
		return text, nil
	case boolean.MatchString(text):
		is, err := v.Bool()
		return strconv.FormatBool(is), err
	case decimal.MatchString(text) && text != "-0":
		return strings.TrimPrefix(text, "+"), nil
	}
	return "", v.fault("expected a text: write it in quotes")
}

// Bool returns the value as true or false.
func (v *Value) Bool() (bool, error) {
	if v.Kind != Scalar || !v.Plain || !boolean.MatchString(v.Text) {
		return false, v.fault("expected true or false")
	}
	switch strings.ToLower(v.Text) {
	case "yes", "true", "on":
		return true, nil
	}
	return false, nil
}

var decimal = regexp.MustCompile(`^[-+]?(?:0|[1-9][0-9]*)$`)

// Int returns the value as a decimal number.
func (v *Value) Int() (int32, error) {
	if v.Kind == Scalar && v.Plain && decimal.MatchString(v.Text) {
		if n, err := strconv.ParseInt(v.Text, 10, 32); err == nil {
			return int32(n), nil
		}
	}
	return 0, v.fault("expected a decimal number of 32 bits")
}

// fault returns an error at the place of the value.
func (v *Value) fault(what string) error {
	return fmt.Errorf("line %d, column %d: %s", v.Line, v.Column, what)
}
