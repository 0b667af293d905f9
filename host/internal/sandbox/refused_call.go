package sandbox

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
)

// maxRefusalCause is the maximum length of an error in a line about a refused call, in bytes.
const maxRefusalCause = 300

// refusedCall is a call of a host function that the host refused, or that failed outside
// of the sandbox. The guest only gets a code, and many languages show it as a few
// general words.
type refusedCall struct {
	function *hostFunction // nil: there is none
	code     int32
	cause    refusalCause
}

// refusalCause is what the code does not say; it may be empty. A guest can repeat a refused
// call at any rate, so the text for people is built only when the run has failed.
type refusalCause struct {
	text  string    // with %d for limit
	limit int64     // a limit that was exceeded
	err   string    // an error in which secrets are not hidden yet, or its beginning
	grant abi.Grant // the missing grant, if it is not the grant of the function
}

// exceeds returns the code for a limit. %d in text stands for the limit.
func (r *run) exceeds(text string, limit int64) int32 {
	r.cause = refusalCause{text: text, limit: limit}
	return abi.ErrLimit
}

// recordCall records a call that was refused. A later call of the same function that is not
// refused, such as a request that is sent again, deletes the record.
func (r *run) recordCall(f *hostFunction, code int32) {
	switch code {
	case abi.ErrDenied, abi.ErrInvalid, abi.ErrLimit, abi.ErrIO:
		r.refused = refusedCall{f, code, r.cause}
	default:
		if r.refused.function == f {
			r.refused = refusedCall{}
		}
	}
	if code < 0 {
		r.cause = refusalCause{}
	}
}

// setCause makes an error the cause of the refusal.
func (r *run) setCause(err error) {
	text := err.Error() // cut here, but with enough beyond the maximum to find a secret across the cut
	r.cause.err = text[:min(len(text), maxRefusalCause+1+r.log.secrets.slack())]
}

// query matches the query of a URL, which may contain what only the guest may know. If the
// URL is in quotes, its query may contain escapes, also escaped quotes, which belong to
// it.
var query = regexp.MustCompile(`\?(?:\\.|[^\s"\\])+`)

// hints returns lines that help to correct the job of a failed run. text is what the
// author sees already: the reason and the output of the guest.
func (r *run) hints(text string) string {
	return r.explainRefusedCall() + r.ungranted(text)
}

// explainRefusedCall returns a line about the last host function that was refused, or "".
func (r *run) explainRefusedCall() string {
	c := &r.refused
	if c.function == nil {
		return ""
	}
	why := strings.Replace(c.cause.text, "%d", strconv.FormatInt(c.cause.limit, 10), 1)
	if c.cause.err != "" {
		hidden := r.log.secrets.hide(c.cause.err, 0, maxRefusalCause+1)
		why = readable(query.ReplaceAllString(hidden, "?..."), maxRefusalCause)
	}
	verb, usual := "refused", "an argument is invalid"
	switch c.code {
	case abi.ErrDenied:
		setting := "allow." + string(cmp.Or(c.cause.grant, c.function.Grant))
		verb, usual = "denied", "grant it with "+setting
		if why != "" {
			why += "; see " + setting
		}
	case abi.ErrLimit: // all other limits have a cause
		usual = "there is no memory for it"
		if r.memoryErr != nil {
			usual = r.memoryErr.Error()
		}
	case abi.ErrIO:
		verb, usual = "could not complete", "it failed"
	}
	return fmt.Sprintf("\nthe host %s %s: %s", verb, c.function.name, cmp.Or(why, usual))
}
