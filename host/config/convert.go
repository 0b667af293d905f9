package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// convert turns what the TOML parser gave for key k into the Go value that the
// key stands for: string, bool, int64 (numbers and sizes), time.Duration,
// []string, map[string]string, job.Pool. at is called with the sub-path ("" for the value
// itself, "[0]" or ".name" for what is inside) of every fault.
func convert(k key, raw any, lookup func(string) (string, bool), at func(sub string, f *fault)) (any, bool) {
	c := converter{key: k, lookup: lookup, at: at}
	v := c.value(raw)
	return v, !c.refused
}

type converter struct {
	key     key
	lookup  func(string) (string, bool)
	at      func(sub string, f *fault)
	refused bool
}

// refuse reports a fault. One inside of a list or a table leaves the rest of it
// in force, so that what is wrong there is found in the same pass.
func (c *converter) refuse(sub string, f *fault) {
	c.refused = c.refused || sub == ""
	c.at(sub, f)
}

func (c *converter) value(raw any) any {
	k := c.key
	switch k.takes {
	case flag:
		return c.flag(raw)
	case number:
		return c.number(raw)
	case list:
		return c.list(raw)
	case texts:
		return c.texts(raw)
	case items:
		if m, ok := raw.(map[string]any); ok {
			return c.itemTable(m)
		}
	case instances:
		return c.instances(raw)
	case moment:
		return c.moment(raw)
	case sums:
		return c.sums(raw)
	}
	s, ok := raw.(string)
	if !ok {
		c.refuse("", c.notText(raw))
		return nil
	}
	s, f := c.expand(s)
	if f == nil {
		var v any
		if v, f = c.parse(s); f == nil {
			return v
		}
	}
	c.refuse("", f)
	return nil
}

// expand replaces the variables of a string.
func (c *converter) expand(s string) (string, *fault) {
	if c.key.plain {
		return s, nil
	}
	// A guest that got the reference for the secret would go on with it.
	if strings.HasPrefix(s, "secret://") {
		return "", refuse(CodeRelease, "write ${NAME} to take it from the environment", "secret:// is not in this release")
	}
	return expand(s, c.lookup)
}

// parse reads a string value after its variables have been replaced.
func (c *converter) parse(s string) (any, *fault) {
	k := c.key
	switch k.takes {
	case word:
		return s, c.word(s)
	case duration:
		if slices.Contains(k.words, s) {
			return time.Duration(0), nil
		}
		d, f := parseDuration(s)
		if f == nil && d == 0 {
			hint := "remove it"
			if slices.Contains(k.words, off) {
				hint = `write "off"`
			}
			f = refuse(CodeValue, hint, "a duration of nothing")
		}
		return d, f
	case size:
		n, f := parseSize(s)
		if f == nil && (n < k.min || n > k.max) {
			f = refuse(CodeValue, fmt.Sprintf("write %q to %q", formatSize(k.min), formatSize(k.max)), "%s is out of range", s)
		}
		return n, f
	}
	return s, nil
}

func (c *converter) word(s string) *fault {
	k := c.key
	if slices.Contains(k.words, s) {
		return nil
	}
	want := "write " + quoted(k.words)
	if slices.Contains(k.later, s) {
		return refuse(CodeRelease, want, "%q is not in this release", s)
	}
	if near := Nearest(s, k.words); near != "" {
		want = fmt.Sprintf("did you mean %q?", near)
	}
	return refuse(CodeValue, want, "%q is not known here", s)
}

// notText explains what to write instead of a bare number and the like.
func (c *converter) notText(raw any) *fault {
	n, whole := raw.(int64)
	switch {
	case c.key.takes == duration && whole && n > 0:
		return refuse(CodeType, fmt.Sprintf("write \"%ds\" for seconds", n), "a duration is a string with a unit")
	case c.key.takes == duration:
		return refuse(CodeType, `write "90s"`, "a duration is a string with a unit, not %s", kindOf(raw))
	case c.key.takes == size && whole && n > 0:
		return refuse(CodeType, fmt.Sprintf("write \"%dB\" for bytes or \"%dMiB\"", n, n), "a size is a string with a unit")
	case c.key.takes == size:
		return refuse(CodeType, `write "64MiB"`, "a size is a string with a unit, not %s", kindOf(raw))
	case c.key.takes == items:
		return refuse(CodeType, `write { 0 = "a", 1 = "b" }`, "item parameters are a table or a string, not %s", kindOf(raw))
	case c.key.takes == word:
		return refuse(CodeType, "write "+quoted(c.key.words), "a string is wanted, not %s", kindOf(raw))
	}
	hint := "put it in quotes"
	switch {
	case c.key.secret:
		hint = `write "env:NAME"`
	case whole:
		hint = fmt.Sprintf("write \"%d\"", n)
	}
	return refuse(CodeType, hint, "a string is wanted, not %s", kindOf(raw))
}

func (c *converter) flag(raw any) any {
	b, ok := raw.(bool)
	if ok {
		return b
	}
	hint := "write true or false"
	if s, _ := raw.(string); s == "true" || s == "false" {
		hint = "write " + s + " without quotes"
	}
	c.refuse("", refuse(CodeType, hint, "true or false is wanted, not %s", kindOf(raw)))
	return nil
}

func (c *converter) number(raw any) any {
	k := c.key
	n, ok := raw.(int64)
	if !ok {
		hint := fmt.Sprintf("write a number from %d to %d", k.min, k.max)
		if s, _ := raw.(string); isNumber(s) {
			hint = "write " + s + " without quotes"
		}
		c.refuse("", refuse(CodeType, hint, "a whole number is wanted, not %s", kindOf(raw)))
		return nil
	}
	if n < k.min || n > k.max {
		hint := fmt.Sprintf("write %d to %d", k.min, k.max)
		if k.min == k.max {
			hint = fmt.Sprintf("write %d", k.min)
		}
		c.refuse("", refuse(CodeValue, hint, "%d is out of range", n))
		return nil
	}
	return n
}

func (c *converter) list(raw any) any {
	elements, ok := raw.([]any)
	if !ok {
		c.refuse("", refuse(CodeType, `write ["a", "b"]`, "a list of strings is wanted, not %s", kindOf(raw)))
		return nil
	}
	out := make([]string, 0, len(elements))
	for i, element := range elements {
		sub := "[" + strconv.Itoa(i) + "]"
		s, _ := c.text(sub, element)
		out = append(out, s) // "" in place of a fault: the others keep their index
	}
	return out
}

func (c *converter) texts(raw any) any {
	table, ok := raw.(map[string]any)
	if !ok {
		c.refuse("", refuse(CodeType, `write { name = "text" }`, "a table of strings is wanted, not %s", kindOf(raw)))
		return nil
	}
	out := make(map[string]string, len(table))
	for _, name := range sortedNames(table) {
		if s, ok := c.text("."+quoteKey(name), table[name]); ok {
			out[name] = s
		}
	}
	return out
}

// text reads one string inside a list or a table.
func (c *converter) text(sub string, raw any) (string, bool) {
	s, ok := raw.(string)
	if !ok {
		hint := "put it in quotes"
		switch raw.(type) {
		case bool, int64, float64:
			hint = fmt.Sprintf("write %q", fmt.Sprint(raw))
		}
		if c.key.secret {
			hint = `write "env:NAME"`
		}
		c.refuse(sub, refuse(CodeType, hint, "a string is wanted, not %s", kindOf(raw)))
		return "", false
	}
	s, f := c.expand(s)
	if f != nil {
		c.refuse(sub, f)
		return "", false
	}
	return s, true
}

// itemTable writes { 0 = "a", 1 = "b" } as the text that ElasticJob knows. That
// text has no way to escape a comma or an equals sign.
func (c *converter) itemTable(table map[string]any) any {
	byItem := make(map[int]string, len(table))
	for _, name := range sortedNames(table) {
		sub := "." + quoteKey(name)
		item, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(item) != name {
			c.refuse(sub, refuse(CodeValue, `write { 0 = "a", 1 = "b" }`, "%q is not the number of an item", name))
			continue
		}
		s, ok := c.text(sub, table[name])
		if !ok {
			continue
		}
		if _, err := job.FormatItemParams(map[int]string{item: s}); err != nil {
			c.refuse(sub, refuse(CodeValue, "put such values into [jobs.<name>.config]", "%v", err))
			continue
		}
		byItem[item] = s
	}
	line, err := job.FormatItemParams(byItem)
	if err != nil {
		c.refuse("", refuse(CodeValue, "", "%v", err))
	}
	return line
}

// instances reads "per-run" or { pool = 4, max_uses = 100 }.
func (c *converter) instances(raw any) any {
	const want = `write "per-run" or { pool = 4, max_uses = 100 }`
	table, ok := raw.(map[string]any)
	if s, text := raw.(string); text && s == perRun {
		return job.Pool{}
	} else if !ok {
		f := refuse(CodeType, want, "a table is wanted, not %s", kindOf(raw))
		if text {
			f = refuse(CodeValue, want, "%q is not known here", s)
		}
		c.refuse("", f)
		return nil
	}
	var pool job.Pool
	for _, name := range sortedNames(table) {
		sub := "." + quoteKey(name)
		inner := converter{key: key{takes: number, min: 1, max: job.MaxPool}, at: func(_ string, f *fault) { c.refuse(sub, f) }}
		switch name {
		case "pool":
			pool.Size = inner.whole(table[name])
			c.refused = c.refused || pool.Size == 0
		case "max_uses":
			inner.key.max = 1_000_000_000
			pool.MaxUses = inner.whole(table[name])
			c.refused = c.refused || pool.MaxUses == 0
		default:
			c.refuse(sub, refuse(CodeUnknownKey, "known here: max_uses, pool", "unknown key"))
		}
	}
	if _, ok := table["pool"]; !ok && !c.refused {
		c.refuse("", refuse(CodeMissing, want, "pool is missing"))
	}
	return pool
}

// whole is a number within the bounds of the key, or 0 if it was refused.
func (c *converter) whole(raw any) int {
	n, _ := c.number(raw).(int64)
	return int(n)
}

// moment reads a date with a time and a zone, with or without quotes.
func (c *converter) moment(raw any) any {
	if at, ok := raw.(time.Time); ok && !strings.HasSuffix(at.Location().String(), "-local") { // the parser's name for none
		return at
	}
	if s, text := raw.(string); text {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err == nil {
			return at
		}
	}
	c.refuse("", refuse(CodeValue, "write 2026-01-02T03:04:05Z", "a date with a time and a zone is wanted"))
	return nil
}

// sums reads { rows = 3, share = 0.5 }.
func (c *converter) sums(raw any) any {
	table, ok := raw.(map[string]any)
	if !ok {
		c.refuse("", refuse(CodeType, `write { name = 1 }`, "a table of numbers is wanted, not %s", kindOf(raw)))
		return nil
	}
	out := make(map[string]float64, len(table))
	for _, name := range sortedNames(table) {
		switch n := table[name].(type) {
		case int64:
			out[name] = float64(n)
		case float64:
			out[name] = n
		default:
			c.refuse("."+quoteKey(name), refuse(CodeType, "write a number", "a number is wanted, not %s", kindOf(n)))
		}
	}
	return out
}

// kindOf names the type of a TOML value for a message.
func kindOf(raw any) string {
	switch raw.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case int64:
		return "a number"
	case float64:
		return "a number with a fraction"
	case time.Time:
		return "a date"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "a list of tables"
	}
	return "something else"
}
