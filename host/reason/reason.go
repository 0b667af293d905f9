// Package reason is the closed list of reasons why something happened to a run or a job, or did
// not: codes with parameters. Core, records, history, events and logs carry a Reason; its words
// are put to it only at the edge, where people read it.
//
// It decides nothing. To add a reason, add a constant and a row of the table; if the words do
// not say what to do, add a row to the cures. docs/REASONS.md is generated from both.
package reason

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Code names a reason. Scripts compare codes, so a released code keeps its spelling and
// meaning.
type Code string

// Reason is a code with the values of its parameters, or a text without a code. The zero value
// is no reason. Reasons can be compared.
type Reason struct {
	Code Code
	// Args are the values of the code's parameters in the order of the table, joined by
	// separator. Without a code, Args is the text.
	Args string
}

// separator separates the values of parameters, and a code from them.
const separator = "\x1f"

// Of returns the reason with a code and one argument for each parameter in its row of the
// table.
func Of(c Code, args ...string) Reason {
	if c == "" {
		return Reason{}
	}
	clean := make([]string, len(args))
	for i, a := range args {
		clean[i] = strings.ReplaceAll(a, separator, " ")
	}
	joined := strings.Join(clean, separator)
	if strings.Trim(joined, separator) == "" { // reasons are compared, and values that are all empty count as none
		joined = ""
	}
	return Reason{Code: c, Args: joined}
}

// Text returns a reason without a code: the words of a guest, a library or another release.
func Text(s string) Reason { return Reason{Args: s} }

// None reports whether there is no reason.
func (r Reason) None() bool { return r == Reason{} }

// Params returns the values of the parameters by name; nil if all are empty.
func (r Reason) Params() map[string]string {
	if r.Args == "" {
		return nil
	}
	return r.params()
}

// params is Params, but also has the names of parameters that are all empty, for fill.
func (r Reason) params() map[string]string {
	row, _ := rowOf(r.Code)
	names := row.params
	if r.Code == "" || len(names) == 0 {
		return nil
	}
	values := strings.SplitN(r.Args, separator, len(names))
	params := make(map[string]string, len(names))
	for i, name := range names {
		params[name] = ""
		if i < len(values) {
			params[name] = values[i]
		}
	}
	return params
}

// String returns the reason in words.
func (r Reason) String() string {
	if r.Code == "" {
		return r.Args
	}
	row, known := rowOf(r.Code)
	if !known {
		return string(r.Code)
	}
	return r.fill(row.words)
}

// Hint says what to do or, for a fault of a configuration, what to write instead. It is empty
// if the words say it already.
func (r Reason) Hint() string { return r.fill(cmp.Or(faults[r.Code].hint, cures[r.Code])) }

// WithHint returns the words and the hint.
func (r Reason) WithHint() string {
	if hint := r.Hint(); hint != "" {
		return r.String() + " (" + hint + ")"
	}
	return r.String()
}

// fill replaces {name} in a text by the value of the parameter.
func (r Reason) fill(text string) string {
	params := r.params()
	text = optional.ReplaceAllStringFunc(text, func(part string) string {
		if name := optional.FindStringSubmatch(part)[1]; params[name] == "" {
			return ""
		}
		return part[1 : len(part)-1]
	})
	var pairs []string
	for name, value := range params {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// optional matches a part of a text that is left out if its parameter is empty. The part begins
// with a blank or a colon, which distinguishes it from a table such as [jobs.{job}].
var optional = regexp.MustCompile(`\[[ :][^][{}]*\{(\w+)\}\]`)

// OfParams returns the reason for a code and its Params as another server writes them. If this
// release does not know the code, it returns the words as a text.
func OfParams(c Code, params map[string]string, words string) Reason {
	row, known := rowOf(c)
	if !known {
		return Text(words)
	}
	args := make([]string, len(row.params))
	for i, name := range row.params {
		args[i] = params[name]
	}
	return Of(c, args...)
}

// rowOf returns the row of a code, from the table or the faults, and whether there is one.
func rowOf(c Code) (entry, bool) {
	if f, ok := faults[c]; ok {
		return entry{f.words, f.params}, true
	}
	row, ok := table[c]
	return row, ok
}

// Event returns the words without values: the constant message of a log line.
func (r Reason) Event() string {
	words := optional.ReplaceAllString(table[r.Code].words, "")
	if i := strings.IndexByte(words, '{'); i >= 0 {
		words = words[:i]
	}
	if text := strings.TrimRight(words, " :"); text != "" {
		return text
	}
	return cmp.Or(string(r.Code), r.Args)
}

// Key returns the code with its values, which records and the history keep beside the text. It
// is empty for a text without a code.
func (r Reason) Key() string {
	if r.Code == "" || r.Args == "" {
		return string(r.Code)
	}
	return string(r.Code) + separator + r.Args
}

// Read returns the reason for the key and the text of a record or a history row. If the key is
// empty, or this release does not know its code, it looks for the code by the text: earlier
// releases wrote texts alone.
func Read(key, words string) Reason {
	code, args, _ := strings.Cut(key, separator)
	if rest, ok := strings.CutPrefix(code, diedCode); ok {
		code = string(ServerGone) + rest
	}
	if _, known := table[Code(code)]; known {
		return Reason{Code(code), args}
	}
	if c, ok := coded[words]; ok {
		return Reason{Code: c}
	}
	return Text(words)
}

// Code and words of earlier releases, which did not distinguish a server that lost the registry
// from one that died.
const (
	diedCode  = "server_died"
	diedWords = "the server died"
)

// coded maps words without parameters to their code, also the words of earlier releases.
var coded = func() map[string]Code {
	all := make(map[string]Code, len(table))
	for c, row := range table {
		if words := optional.ReplaceAllString(row.words, ""); !strings.Contains(words, "{") {
			all[words] = c
			if rest, ok := strings.CutPrefix(words, table[ServerGone].words); ok {
				all[diedWords+rest] = c
			}
		}
	}
	return all
}()

// Codes returns all codes, in no particular order.
func Codes() []Code {
	return slices.AppendSeq(slices.Collect(maps.Keys(table)), maps.Keys(faults))
}

// Words returns several reasons in words, with the text between after each but the last.
func Words(all []Reason, between string) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.String()
	}
	return strings.Join(texts, between)
}
