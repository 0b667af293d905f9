// Package reason is the closed list of reasons why something happened to a run
// or a job, or did not: codes with parameters. Core, records, history, events
// and logs carry a Reason; the package's one table of words is for the edge,
// where people read.
//
// It decides nothing. To add a reason, add a constant and a line in the table; if the
// words do not say what to do, add a line to the cures. docs/REASONS.md is made from both.
package reason

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Code names a reason. Scripts compare it, so a released one keeps its spelling and
// its meaning.
type Code string

// Reason is a code with the values of its parameters, or a text that has no code. The
// zero value is none. Reasons can be compared.
type Reason struct {
	Code Code
	// Args are the values of the parameters that the table names, in its order, with
	// a separator between them; without a code, the text.
	Args string
}

// separator stands between the values of parameters, and between a code and those.
const separator = "\x1f"

// Of is the reason with a code. There are as many args as the table names parameters.
func Of(c Code, args ...string) Reason {
	if c == "" {
		return Reason{}
	}
	clean := make([]string, len(args))
	for i, a := range args {
		clean[i] = strings.ReplaceAll(a, separator, " ")
	}
	joined := strings.Join(clean, separator)
	if strings.Trim(joined, separator) == "" {
		joined = ""
	}
	return Reason{Code: c, Args: joined}
}

// Text is a reason that has no code: what a guest, a library or another release says.
func Text(s string) Reason { return Reason{Args: s} }

// None reports whether there is no reason.
func (r Reason) None() bool { return r == Reason{} }

// Params are the values of the parameters by name; nil if there are none.
func (r Reason) Params() map[string]string {
	if r.Args == "" {
		return nil
	}
	return r.params()
}

// params also has those without a value.
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

// String puts words to the reason.
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

// Hint says what to do or, for a fault of a configuration, what to write instead; "" if
// the text says it already.
func (r Reason) Hint() string { return r.fill(cmp.Or(faults[r.Code].hint, cures[r.Code])) }

// WithHint is the words and the hint.
func (r Reason) WithHint() string {
	if hint := r.Hint(); hint != "" {
		return r.String() + " (" + hint + ")"
	}
	return r.String()
}

// fill puts the values of the parameters into a text of the table.
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

// optional is a part of a text that stands there only if its parameter has a value. It begins
// with a blank or a colon, so that a table of a configuration, [jobs.{job}], is none.
var optional = regexp.MustCompile(`\[[ :][^][{}]*\{(\w+)\}\]`)

// OfParams returns the reason with a code and its Params, as another server writes them.
// If this release does not know the code, the words decide.
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

// rowOf is the line of the table for a code.
func rowOf(c Code) (entry, bool) {
	if f, ok := faults[c]; ok {
		return entry{f.words, f.params}, true
	}
	row, ok := table[c]
	return row, ok
}

// Event is the words without values, the same each time: the message of a log line.
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

// Key returns the code with its values, as records and histories keep it next to
// the text; empty for a text without a code.
func (r Reason) Key() string {
	if r.Code == "" || r.Args == "" {
		return string(r.Code)
	}
	return string(r.Code) + separator + r.Args
}

// Read returns the reason for the key and the text of a record or a history. If the
// key is empty, or this release does not know its code, the text decides: earlier
// releases wrote texts alone, most of which belong to a code.
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

// Releases before said of a server that lost the registry, too, that it died.
const (
	diedCode  = "server_died"
	diedWords = "the server died"
)

// coded is which code has words that need no value of a parameter.
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

// Codes are all there are, in no order.
func Codes() []Code {
	return slices.AppendSeq(slices.Collect(maps.Keys(table)), maps.Keys(faults))
}

// Words puts words to several reasons.
func Words(all []Reason, between string) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.String()
	}
	return strings.Join(texts, between)
}
