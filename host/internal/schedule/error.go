package schedule

import "strings"

// Error says which part of a schedule text cannot be used and what to write
// instead.
type Error struct {
	Text   string // the whole schedule text
	Field  string // "second" ... "year"; empty when the text as a whole is at fault
	Token  string // the offending piece as the user wrote it; may be empty
	Offset int    // byte offset of the field in Text, for pointing at it
	Reason string // what is wrong, and the cure
}

// Error puts field, token and reason into one line without naming the text.
func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []string{e.Field, e.Token} {
		if part != "" {
			b.WriteString(part + " ")
		}
	}
	b.WriteString(e.Reason)
	return b.String()
}
