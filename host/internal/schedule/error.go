package schedule

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
	s := ""
	for _, part := range []string{e.Field, e.Token} {
		if part != "" {
			s += part + " "
		}
	}
	return s + e.Reason
}
