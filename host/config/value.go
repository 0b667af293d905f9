package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// fault is why a value was refused; the caller knows where it stands.
type fault struct {
	code    Code
	message string
	hint    string
}

func refuse(code Code, hint, format string, args ...any) *fault {
	return &fault{code: code, message: fmt.Sprintf(format, args...), hint: hint}
}

// longest bounds every duration: a slip of a few zeros should not be a job
// that never times out.
const longest = 10 * 365 * 24 * time.Hour

// parseDuration reads "90s", "1h30m", "1.5h", "30d", "2w".
func parseDuration(s string) (time.Duration, *fault) {
	const example = `write a number with a unit: "250ms", "90s", "10m", "2h", "30d"`
	if isNumber(s) {
		return 0, refuse(CodeValue, fmt.Sprintf("write \"%ss\" for seconds", s), "a duration needs a unit")
	}
	var sum float64
	rest := s
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if digits <= 0 {
			return 0, refuse(CodeValue, example, "%q is not a duration", s)
		}
		n, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, refuse(CodeValue, example, "%q is not a duration", s)
		}
		rest = rest[digits:]
		end := strings.IndexFunc(rest, func(r rune) bool { return r == '.' || '0' <= r && r <= '9' })
		if end < 0 {
			end = len(rest)
		}
		unit, ok := timeUnit(rest[:end])
		if !ok {
			return 0, refuse(CodeValue, "units are ms, s, m, h, d, w", "%q is not a unit of time", rest[:end])
		}
		sum += n * float64(unit)
		rest = rest[end:]
	}
	switch {
	case s == "":
		return 0, refuse(CodeValue, example, "a duration cannot be empty")
	case sum > float64(longest):
		return 0, refuse(CodeValue, "write at most 3650d", "%q is longer than ten years", s)
	}
	return time.Duration(math.Round(sum)), nil
}

func timeUnit(unit string) (time.Duration, bool) {
	switch unit {
	case "ms":
		return time.Millisecond, true
	case "s":
		return time.Second, true
	case "m":
		return time.Minute, true
	case "h":
		return time.Hour, true
	case "d":
		return 24 * time.Hour, true
	case "w":
		return 7 * 24 * time.Hour, true
	}
	return 0, false
}

// parseSize reads "512B", "4KiB", "64MiB", "1GiB" and the decimal "64MB".
func parseSize(s string) (int64, *fault) {
	const example = `write a whole number with a unit: "4KiB", "64MiB", "1GiB"`
	if isNumber(s) {
		return 0, refuse(CodeValue, fmt.Sprintf("write \"%sB\" for bytes or \"%sMiB\"", s, s), "a size needs a unit")
	}
	digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if digits <= 0 {
		return 0, refuse(CodeValue, example, "%q is not a size", s)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if err != nil {
		return 0, refuse(CodeValue, example, "%q is too large", s)
	}
	unit, ok := sizeUnit(strings.TrimSpace(s[digits:]))
	if !ok {
		return 0, refuse(CodeValue, "units are B, KiB, MiB, GiB, kB, MB, GB", "%q is not a unit of size", s[digits:])
	}
	if n > math.MaxInt64/unit {
		return 0, refuse(CodeValue, example, "%q is too large", s)
	}
	return n * unit, nil
}

func sizeUnit(unit string) (int64, bool) {
	switch unit {
	case "B":
		return 1, true
	case "KiB":
		return 1 << 10, true
	case "MiB":
		return 1 << 20, true
	case "GiB":
		return 1 << 30, true
	case "kB":
		return 1e3, true
	case "MB":
		return 1e6, true
	case "GB":
		return 1e9, true
	}
	return 0, false
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// formatSize writes n with the largest unit that leaves it whole.
func formatSize(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// expand replaces ${VAR}, ${VAR:-default}, ${VAR:?message} and $$. What a
// variable holds is not looked at again.
func expand(s string, lookup func(string) (string, bool)) (string, *fault) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			s = after[1:]
		case strings.HasPrefix(after, "{"):
			inside, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return "", refuse(CodeVariable, "write ${NAME}, or $$ for a dollar", "${ has no closing brace")
			}
			value, f := variable(inside, lookup)
			if f != nil {
				return "", f
			}
			b.WriteString(value)
			s = rest
		default:
			return "", refuse(CodeVariable, "write ${NAME} for a variable, $$ for a dollar", "a dollar stands alone")
		}
	}
}

// variable gives the value of what stands between the braces.
func variable(inside string, lookup func(string) (string, bool)) (string, *fault) {
	name, instead, op := inside, "", ""
	if i := strings.IndexByte(inside, ':'); i >= 0 {
		name, op, instead = inside[:i], inside[i:min(i+2, len(inside))], inside[min(i+2, len(inside)):]
	}
	if !isVariable(name) {
		return "", refuse(CodeVariable, "names have letters, digits and underscores", "%q is not the name of a variable", name)
	}
	if strings.Contains(instead, "${") {
		return "", refuse(CodeVariable, "give "+name+" a value, or write the default itself", "the default of ${%s cannot hold a variable", name)
	}
	value, set := lookup(name)
	switch op {
	case "":
		if !set {
			return "", refuse(CodeVariable, "set it, or write ${"+name+":-default}", "variable %s is not set", name)
		}
	case ":-":
		if value == "" {
			return instead, nil
		}
	case ":?":
		if value == "" {
			if instead == "" {
				instead = "it is needed"
			}
			return "", refuse(CodeVariable, "set "+name, "variable %s is not set: %s", name, instead)
		}
	default:
		return "", refuse(CodeVariable, "write ${"+name+":-default} or ${"+name+":?message}", "%q means nothing in ${%s}", op, inside)
	}
	return value, nil
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
