package clustertree

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
)

// version of the form of all values.
const version = 1

// lastMoment is the newest time in ms that a value may have: the end of the year 9999.
const lastMoment = 253402300799999

func isMoment(ms int64) bool { return ms > 0 && ms <= lastMoment }

func encode(v any) []byte { return jsonvalue.Encode(v) }

// decodeIfAny is decode for a node whose text may be empty; v then stays as it is. known
// points to the version in v.
func decodeIfAny(data []byte, limit int, v any, known *int) error {
	if len(data) == 0 {
		return nil
	}
	return decode(data, limit, v, known)
}

// decode reads a value into v, whose version is then at known. limit is the largest size in
// bytes. The text must be the one that encode makes: otherwise an unknown or repeated key
// would be lost when the value is written again.
func decode(data []byte, limit int, v any, known *int) error {
	if len(data) > limit {
		return fmt.Errorf("it has %d bytes, more than the %d that this release writes", len(data), limit)
	}
	// Another version is reported first, since the rest may be unreadable for that reason.
	err := jsonvalue.Decode(data, v)
	switch {
	case *known != version && *known != 0:
		return fmt.Errorf("its version %d is not known to this release", *known)
	case err != nil:
		return fmt.Errorf("read a value of the cluster: %w", err)
	case *known != version || !bytes.Equal(encode(v), data):
		return errors.New("it is not what this release writes")
	}
	return nil
}

func isHex(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}

// escaped is the size in JSON of a character that needs an escape.
const escaped = 6

// short cuts s so that its JSON has at most limit bytes. A character that a terminal may
// act on becomes "?", and a cut ends in "…". Its result does not change if it is cut again,
// so short(s) == s shows that s was not too long.
func short(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	used, cut := 0, 0 // cut is where the text ends if it must be cut
	for i, r := range s {
		if used <= limit-len("…") {
			cut = i
		}
		if strings.ContainsRune(`"\<>&`, r) {
			used += escaped
		} else {
			used += utf8.RuneLen(r)
		}
		if used > limit {
			return s[:cut] + "…"
		}
	}
	return s
}
