package conformance

import (
	"fmt"
	"strconv"
	"strings"
)

// The functions below write values as the author of a file of cases does.

// inline returns an inline table. text writes a value.
func inline[V any](m map[string]V, text func(V) string) string {
	var fields []string
	for key, value := range sorted(m) {
		if strings.Trim(key, bare) != "" || key == "" {
			key = strconv.Quote(key)
		}
		fields = append(fields, key+" = "+text(value))
	}
	if len(fields) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

// bare are the characters of keys that need no quotes.
const bare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// quoted writes texts as a list.
func quoted(texts []string) string {
	all := make([]string, len(texts))
	for i, s := range texts {
		all[i] = strconv.Quote(s)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// number returns a number without an exponent.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// text writes the counts as an inline table.
func (f Flow) text() string {
	return fmt.Sprintf("{ batches = %d, succeeded = %d, failed = %d }", f.Batches, f.Succeeded, f.Failed)
}
