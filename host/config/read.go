package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Bounds on what is read.
const (
	maxFileBytes = 1 << 20
	maxFiles     = 1000
	// maxProblems bounds the work for a file that is no configuration at all.
	maxProblems = 1000
)

// value is the value of a key that was set.
type value struct {
	is      any // result of convert
	at      place
	inside  map[string]place // places of elements, by sub-path
	refused bool             // set, but to a value that was refused
}

// reader collects the keys of all files.
type reader struct {
	schema   *node
	env      environment
	values   map[string]value  // by dotted path
	named    map[string]place  // where each table with a free name is defined, such as a job or a module
	tables   map[string]place  // where each other table begins
	order    map[string]int    // position of each file in the order of reading
	dirs     map[string]string // the folder of each file; the environment has none
	main     string            // the first file; paths of defaults start at its folder
	problems Problems
	faulty   map[string]bool // paths with problems
	broken   bool            // a file could not be parsed, so its definitions are unknown

	elsewhere bool   // the grant limits and notifiers of other servers apply
	afterAny  bool   // jobs may run after jobs of other files
	noFile    bool   // there is no folder at which relative grants start
	kind      string // of the registry, if no file sets it
	layout    string // of jobs, if no file sets it
}

// newReader returns a reader for jobs.toml.
func newReader(o Options) *reader { return newReaderOf(schema(), o) }

// newReaderOf returns a reader for files that have these keys.
func newReaderOf(keys []key, o Options) *reader {
	return &reader{
		schema: schemaTree(keys),
		env:    newEnvironment(o.Env),
		values: map[string]value{},
		named:  map[string]place{},
		tables: map[string]place{},
		order:  map[string]int{},
		dirs:   map[string]string{},
		faulty: map[string]bool{},

		elsewhere: o.Elsewhere, afterAny: o.AfterAny, noFile: o.NoFile, kind: cmp.Or(o.Kind, Embedded), layout: cmp.Or(o.Layout, job.Layout21),
	}
}

// isSet reports whether the key was set, even to an invalid value.
func (r *reader) isSet(path string) bool { return r.values[path].at.file != "" }

// report adds a problem. Beyond maxProblems one last problem says so, and further ones are dropped.
func (r *reader) report(p Problem) {
	if len(r.problems) == maxProblems {
		p = place{file: p.File}.problem("", reason.Of(reason.TooManyFaults))
	}
	if len(r.problems) > maxProblems {
		return
	}
	p.Path = printable(p.Path) // it must not break the line
	r.problems = append(r.problems, p)
	r.faulty[p.Path] = true
}

// printable escapes characters that would disturb a terminal or a line-based reader.
func printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return s
	}
	return strings.Trim(strconv.QuoteToGraphic(s), `"`)
}

// source is one text to read.
type source struct {
	name string // for messages
	dir  string // relative paths start here; "": in the working directory
	text string
}

// open reads a file. If that fails, it reports a problem and returns false.
func (r *reader) open(path string) (source, bool) {
	text, err := readBounded(path)
	if err != nil {
		r.order[path] = len(r.order)
		r.reportBroken(place{file: path}, reason.Of(reason.FileUnreadable, plainError(err)))
		return source{}, false
	}
	return source{name: path, dir: filepath.Dir(path), text: text}, true
}

// reportBroken reports a file whose definitions are unknown.
func (r *reader) reportBroken(at place, why reason.Reason) {
	r.broken = true
	r.report(at.problem("", why))
}

// openIncluded opens a file that matches a pattern. A path without pattern may name a pipe, as
// <(…) does; a pipe that matches a pattern is an accident, and reading it would block for ever.
func (r *reader) openIncluded(path string) (source, bool) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		r.order[path] = len(r.order)
		r.reportBroken(place{file: path}, reason.Of(reason.FileIrregular))
		return source{}, false
	}
	return r.open(path)
}

// readBounded reads a file, as readText does.
func readBounded(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read from
	return readText(f)
}

// readText reads at most one byte more than a file may have, so that add sees that it is too large.
func readText(in io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxFileBytes+1))
	return string(text), err
}

// plainError removes the verb and the path, which the message has already.
func plainError(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		err = p.Err
	}
	return err.Error()
}

// add reads one text into the values and returns its key "include". A text that cannot be parsed
// is reported, and has no keys.
func (r *reader) add(s source) value {
	if len(r.order) == 0 {
		r.main = s.name
	}
	r.order[s.name] = len(r.order)
	r.dirs[s.name] = s.dir
	d := document{reader: r, source: s}
	s.text = strings.TrimPrefix(s.text, "\ufeff")
	d.lines = indexLines(s.text)
	if len(s.text) > maxFileBytes {
		r.reportBroken(place{file: s.name}, reason.Of(reason.FileTooLarge))
		return value{}
	}
	var deep int
	if d.marks, deep = scan(s.text); deep >= 0 {
		r.reportBroken(d.place(deep), reason.Of(reason.NestedTooDeeply))
		return value{}
	}
	raw := map[string]any{}
	if _, err := toml.Decode(s.text, &raw); err != nil {
		r.broken = true
		r.report(d.syntax(err))
		return value{}
	}
	d.table(r.schema, "", raw)
	include := r.values["include"]
	delete(r.values, "include") // each file has its own
	return include
}

// document is a text while it is read into the values.
type document struct {
	*reader
	source
	marks map[string]mark // where each key is, by path
	lines lineIndex
}

// place returns the place of a byte of the text.
func (d *document) place(offset int) place {
	line, col := d.lines.position(offset)
	return place{file: d.name, line: line, col: col}
}

// keyAt and valueAt return the places of a key and of its value.
func (d *document) keyAt(path string) place   { return d.place(d.marks[path].key) }
func (d *document) valueAt(path string) place { return d.place(d.marks[path].value) }

// syntax turns an error of the parser into a problem.
func (d *document) syntax(err error) Problem {
	var p toml.ParseError
	if !errors.As(err, &p) {
		return place{file: d.name}.problem("", reason.Of(reason.NotTOML, err.Error()))
	}
	// Line and column of the parser disagree with each other at the end of a line. Its offset
	// is right, except that it includes blanks.
	start := min(max(0, p.Position.Start), len(d.lines.text))
	blanks := len(d.lines.text[start:]) - len(strings.TrimLeft(d.lines.text[start:], " \t"))
	return d.place(start+min(blanks, max(0, p.Position.Len-1))).problem(p.LastKey, reason.Of(reason.NotTOML, p.Message))
}

// table checks the keys of the table at path against its schema n and reads it.
func (d *document) table(n *node, path string, raw map[string]any) {
	for _, name := range sortedNames(raw) {
		full := joinKey(path, name)
		child := n.child(name)
		switch {
		case child == nil:
			d.unknown(n, path, name)
		case child.key.release != "":
			d.report(d.keyAt(full).problem(full, reason.Of(reason.KeyNotServed, child.key.release)))
		case child.children == nil:
			d.leaf(child.key, full, raw[name])
		default:
			d.subtable(n, child, full, raw[name])
		}
	}
}

// subtable reads the table at path with schema n. A table whose name is free in its parent, such
// as a job, can be defined only once; others add up.
func (d *document) subtable(parent, n *node, path string, raw any) {
	below, ok := raw.(map[string]any)
	if !ok {
		table := path
		if n.free() {
			table += ".<name>"
		}
		d.report(d.keyAt(path).problem(path, reason.Of(reason.TableWanted, kindOf(raw), table)))
		return
	}
	if parent.free() {
		at := d.keyAt(path)
		if first, twice := d.named[path]; twice {
			d.report(at.problem(path, reason.Of(reason.DefinedTwice, first.String())))
			return
		}
		d.named[path] = at
	} else if !d.isTable(path) {
		d.tables[path] = d.keyAt(path)
	}
	d.table(n, path, below)
}

// isTable reports whether a table was written, even if empty.
func (r *reader) isTable(path string) bool { return r.tables[path] != (place{}) }

// leaf reads the value of key k at path, and records its place and those of its elements.
func (d *document) leaf(k key, path string, raw any) {
	v := value{at: d.valueAt(path), inside: map[string]place{}}
	is, ok := convert(k, raw, d.env.lookup, func(sub string, why reason.Reason) {
		d.report(d.valueAt(path+sub).problem(path+sub, why))
	})
	v.is, v.refused = is, !ok
	switch raw := raw.(type) {
	case []any:
		for i := range raw {
			sub := fmt.Sprintf("[%d]", i)
			v.inside[sub] = d.valueAt(path + sub)
		}
	case map[string]any:
		for name := range raw {
			sub := "." + quoteKey(name)
			v.inside[sub] = d.valueAt(path + sub)
		}
	}
	d.values[path] = v.over(d.values[path])
}

// over adds names from an earlier file's table that v lacks, since the tables of several files
// add up. Other values replace the earlier ones.
func (v value) over(earlier value) value {
	below, ok := earlier.is.(map[string]string)
	names, table := v.is.(map[string]string)
	if !ok || !table {
		return v
	}
	for name, text := range below {
		if _, there := names[name]; !there {
			sub := "." + quoteKey(name)
			names[name], v.inside[sub] = text, earlier.inside[sub]
		}
	}
	return v
}

// unknown reports a key that the schema does not have. If it resembles a known key, that key
// counts as set, so that it is not reported as missing as well.
func (d *document) unknown(n *node, path, name string) {
	full := joinKey(path, name)
	at := d.keyAt(full)
	if path == "defaults" && d.schema.children["jobs"].child("").children[name] != nil {
		d.report(at.problem(full, reason.Of(reason.KeyNoDefault)))
		return
	}
	if len(d.problems) > maxProblems { // the search for a similar key is slow
		return
	}
	meant := n.meant(name)
	d.report(at.problem(full, unknownKey(n, path, name)))
	if instead := joinKey(path, meant); meant != "" && !d.isSet(instead) {
		d.values[instead] = value{at: at, refused: true}
	}
}

// unknownKey says what to write instead of a key that the table at path does not have.
func unknownKey(n *node, path, name string) reason.Reason {
	if meant := n.meant(name); meant != "" {
		return reason.Of(reason.KeyMeant, strconv.Quote(meant))
	}
	if strings.HasPrefix(path, "jobs.") && n.children["cron"] != nil {
		return reason.Of(reason.KeyOfGuest, path)
	}
	return reason.Of(reason.KeyUnknown, strings.Join(n.names(), ", "))
}

func sortedNames[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
