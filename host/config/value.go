package config

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// longest bounds every duration: a slip of a few zeros must not make a job that never times
// out.
const longest = 10 * 365 * 24 * time.Hour

// parseDuration reads "90s", "1h30m", "1.5h", "30d", "2w".
func parseDuration(s string) (time.Duration, reason.Reason) {
	if isNumber(s) {
		return 0, reason.Of(reason.DurationUnitless, s)
	}
	var sum float64
	rest := s
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if digits <= 0 {
			return 0, reason.Of(reason.DurationInvalid, strconv.Quote(s))
		}
		n, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, reason.Of(reason.DurationInvalid, strconv.Quote(s))
		}
		rest = rest[digits:]
		end := strings.IndexFunc(rest, func(r rune) bool { return r == '.' || '0' <= r && r <= '9' })
		if end < 0 {
			end = len(rest)
		}
		unit, ok := timeUnits[rest[:end]]
		if !ok {
			return 0, reason.Of(reason.TimeUnitUnknown, strconv.Quote(rest[:end]))
		}
		sum += n * float64(unit)
		rest = rest[end:]
	}
	switch {
	case s == "":
		return 0, reason.Of(reason.DurationEmpty)
	case sum > float64(longest):
		return 0, reason.Of(reason.DurationTooLong, strconv.Quote(s))
	}
	return time.Duration(math.Round(sum)), reason.Reason{}
}

var timeUnits = map[string]time.Duration{ // read only
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
}

// parseSize reads "512B", "4KiB", "64MiB", "1GiB" and the decimal "64MB".
func parseSize(s string) (int64, reason.Reason) {
	if isNumber(s) {
		return 0, reason.Of(reason.SizeUnitless, s)
	}
	digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if digits <= 0 {
		return 0, reason.Of(reason.SizeInvalid, strconv.Quote(s))
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if err != nil {
		return 0, reason.Of(reason.SizeTooLarge, strconv.Quote(s))
	}
	unit, ok := sizeUnits[strings.TrimSpace(s[digits:])]
	if !ok {
		return 0, reason.Of(reason.SizeUnitUnknown, strconv.Quote(s[digits:]))
	}
	if n > math.MaxInt64/unit {
		return 0, reason.Of(reason.SizeTooLarge, strconv.Quote(s))
	}
	return n * unit, reason.Reason{}
}

var sizeUnits = map[string]int64{ // read only
	"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "MB": 1e6, "GB": 1e9,
}

// isNumber reports whether s has only digits, as a value whose unit was forgotten.
func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// expand replaces ${VAR}, ${VAR:-default}, ${VAR:?message} and $$ in s, or returns why it cannot.
// lookup returns the value of a variable. expand does not expand the values of variables again.
func expand(s string, lookup func(string) (string, bool)) (string, reason.Reason) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String(), reason.Reason{}
		}
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			s = after[1:]
		case strings.HasPrefix(after, "{"):
			inside, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return "", reason.Of(reason.BraceOpen)
			}
			value, why := variable(inside, lookup)
			if !why.None() {
				return "", why
			}
			b.WriteString(value)
			s = rest
		default:
			return "", reason.Of(reason.DollarAlone)
		}
	}
}

// variable returns the value of the expression between the braces, such as VAR:-default, or why
// there is none.
func variable(inside string, lookup func(string) (string, bool)) (string, reason.Reason) {
	name, instead, op := inside, "", ""
	if i := strings.IndexByte(inside, ':'); i >= 0 {
		name, op, instead = inside[:i], inside[i:min(i+2, len(inside))], inside[min(i+2, len(inside)):]
	}
	if !isVariable(name) {
		return "", reason.Of(reason.VariableName, strconv.Quote(name))
	}
	if strings.Contains(instead, "${") {
		return "", reason.Of(reason.VariableInDefault, name)
	}
	value, set := lookup(name)
	switch op {
	case "":
		if !set {
			return "", reason.Of(reason.VariableUnset, name)
		}
	case ":-":
		if value == "" {
			return instead, reason.Reason{}
		}
	case ":?":
		if value == "" {
			return "", reason.Of(reason.VariableDemanded, name, cmp.Or(instead, "it is needed"))
		}
	default:
		return "", reason.Of(reason.VariableOperator, strconv.Quote(op), inside, name)
	}
	return value, reason.Reason{}
}

// isVariable reports whether name can be the name of a variable of the environment.
func isVariable(name string) bool {
	for i, r := range name {
		alphabetic := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !alphabetic && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
