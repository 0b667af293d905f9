package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/internal/nearest"
)

// convert turns the TOML parser's value of key k into a Go value: string, bool, int64 (numbers
// and sizes), time.Duration, []string, map[string]string, job.Pool. lookup returns the value of a
// variable of the environment. convert calls at for every fault, with the sub-path of the faulty
// part ("" for the value itself, "[0]" or ".name" for an element). It returns false if the value
// itself is refused, not only an element.
func convert(k key, raw any, lookup func(string) (string, bool), at func(sub string, why reason.Reason)) (any, bool) {
	c := converter{key: k, lookup: lookup, at: at}
	v := c.value(raw)
	return v, !c.refused
}

// converter has the parameters of convert, and methods for each type of value. They return the Go
// value, or nil after a fault.
type converter struct {
	key     key
	lookup  func(string) (string, bool)
	at      func(sub string, why reason.Reason)
	refused bool // the value itself has a fault
}

// refuse reports a fault. A fault in an element of a list or table does not end the conversion,
// so that all faults are found in one pass.
func (c *converter) refuse(sub string, why reason.Reason) {
	c.refused = c.refused || sub == ""
	c.at(sub, why)
}

// value converts by the type of the key. Types that it does not list are written as strings.
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
	case items: // a table, or ElasticJob's text
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
	s, why := c.expand(s)
	if why.None() {
		var v any
		if v, why = c.parse(s); why.None() {
			return v
		}
	}
	c.refuse("", why)
	return nil
}

// expand replaces the variables in a string.
func (c *converter) expand(s string) (string, reason.Reason) {
	if c.key.plain {
		return s, reason.Reason{}
	}
	// Otherwise a guest would receive the reference instead of the secret.
	if strings.HasPrefix(s, "secret://") {
		return "", reason.Of(reason.SecretsNotServed)
	}
	return expand(s, c.lookup)
}

// parse reads a string value whose variables have been replaced.
func (c *converter) parse(s string) (any, reason.Reason) {
	k := c.key
	switch k.takes {
	case word:
		return s, c.word(s)
	case duration:
		if slices.Contains(k.words, s) { // such as "off"
			return time.Duration(0), reason.Reason{}
		}
		d, why := parseDuration(s)
		if why.None() && d == 0 {
			why = reason.Of(reason.DurationZero)
			if slices.Contains(k.words, off) {
				why = reason.Of(reason.DurationZeroOff)
			}
		}
		return d, why
	case size:
		n, why := parseSize(s)
		if why.None() && (n < k.min || n > k.max) {
			why = reason.Of(reason.OutOfRange, s, strconv.Quote(job.FormatSize(k.min)), strconv.Quote(job.FormatSize(k.max)))
		}
		return n, why
	}
	return s, reason.Reason{}
}

// word returns why the key cannot have the word s; none if it can.
func (c *converter) word(s string) reason.Reason {
	k := c.key
	if slices.Contains(k.words, s) {
		return reason.Reason{}
	}
	return meantOr(s, k.words, reason.WordMeant, reason.Of(reason.WordUnknown, strconv.Quote(s), quoted(k.words)))
}

// meantOr returns the reason meant with the known word that is similar to word. If there is
// none, it returns unknown.
func meantOr(word string, known []string, meant reason.Code, unknown reason.Reason) reason.Reason {
	if near := nearest.To(word, known); near != "" {
		return reason.Of(meant, strconv.Quote(word), strconv.Quote(near))
	}
	return unknown
}

// notText returns the fault of a value that is no string although the key takes one, with what to
// write instead.
func (c *converter) notText(raw any) reason.Reason {
	n, whole := raw.(int64)
	switch {
	case c.key.takes == duration && whole && n > 0:
		return reason.Of(reason.DurationBare, strconv.FormatInt(n, 10))
	case c.key.takes == duration:
		return reason.Of(reason.DurationWanted, kindOf(raw))
	case c.key.takes == size && whole && n > 0:
		return reason.Of(reason.SizeBare, strconv.FormatInt(n, 10))
	case c.key.takes == size:
		return reason.Of(reason.SizeWanted, kindOf(raw))
	case c.key.takes == items:
		return reason.Of(reason.ItemParamsWanted, kindOf(raw))
	case c.key.takes == word:
		return reason.Of(reason.TextWantedAs, kindOf(raw), quoted(c.key.words))
	case c.key.secret:
		return reason.Of(reason.TextWantedAs, kindOf(raw), `"env:NAME"`)
	case whole:
		return reason.Of(reason.TextWantedAs, kindOf(raw), fmt.Sprintf(`"%d"`, n))
	}
	return reason.Of(reason.TextWanted, kindOf(raw))
}

// flag reads true or false. Its fault has a special text for one that is written in quotes.
func (c *converter) flag(raw any) any {
	b, ok := raw.(bool)
	if ok {
		return b
	}
	why := reason.Of(reason.FlagWanted, kindOf(raw))
	if s, _ := raw.(string); s == "true" || s == "false" {
		why = reason.Of(reason.FlagInQuotes, kindOf(raw), s)
	}
	c.refuse("", why)
	return nil
}

// number reads a whole number within the bounds of the key.
func (c *converter) number(raw any) any {
	k := c.key
	least, most := strconv.FormatInt(k.min, 10), strconv.FormatInt(k.max, 10)
	n, ok := raw.(int64)
	if !ok {
		why := reason.Of(reason.NumberWanted, kindOf(raw), least, most)
		if s, _ := raw.(string); isNumber(s) {
			why = reason.Of(reason.NumberInQuotes, kindOf(raw), s)
		}
		c.refuse("", why)
		return nil
	}
	if n < k.min || n > k.max {
		why := reason.Of(reason.OutOfRange, strconv.FormatInt(n, 10), least, most)
		if k.min == k.max {
			why = reason.Of(reason.OutOfRangeOfOne, strconv.FormatInt(n, 10), least)
		}
		c.refuse("", why)
		return nil
	}
	return n
}

// list reads a list of strings. An element with a fault becomes an empty string.
func (c *converter) list(raw any) any {
	elements, ok := raw.([]any)
	if !ok {
		c.refuse("", reason.Of(reason.ListWanted, kindOf(raw)))
		return nil
	}
	out := make([]string, 0, len(elements))
	for i, element := range elements {
		sub := "[" + strconv.Itoa(i) + "]"
		s, _ := c.text(sub, element)
		out = append(out, s) // even after a fault, to keep the indexes of the other elements
	}
	return out
}

// texts reads a table of strings with free names. It leaves out an entry with a fault.
func (c *converter) texts(raw any) any {
	table, ok := raw.(map[string]any)
	if !ok {
		c.refuse("", reason.Of(reason.TextsWanted, kindOf(raw)))
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

// text reads one string in a list or table. sub is its place there, and false means a fault.
func (c *converter) text(sub string, raw any) (string, bool) {
	s, ok := raw.(string)
	if !ok {
		why := reason.Of(reason.TextWanted, kindOf(raw))
		switch raw.(type) {
		case bool, int64, float64:
			why = reason.Of(reason.TextWantedAs, kindOf(raw), strconv.Quote(fmt.Sprint(raw)))
		}
		if c.key.secret {
			why = reason.Of(reason.TextWantedAs, kindOf(raw), `"env:NAME"`)
		}
		c.refuse(sub, why)
		return "", false
	}
	s, why := c.expand(s)
	if !why.None() {
		c.refuse(sub, why)
		return "", false
	}
	return s, true
}

// itemTable converts { 0 = "a", 1 = "b" } to ElasticJob's text, which cannot escape a comma or
// an equals sign.
func (c *converter) itemTable(table map[string]any) any {
	byItem := make(map[int]string, len(table))
	for _, name := range sortedNames(table) {
		sub := "." + quoteKey(name)
		item, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(item) != name {
			c.refuse(sub, reason.Of(reason.ItemNumber, strconv.Quote(name)))
			continue
		}
		s, ok := c.text(sub, table[name])
		if !ok {
			continue
		}
		if _, err := job.FormatItemParams(map[int]string{item: s}); err != nil {
			c.refuse(sub, reason.Of(reason.ItemParamUnwritable, err.Error()))
			continue
		}
		byItem[item] = s
	}
	line, err := job.FormatItemParams(byItem)
	if err != nil {
		c.refuse("", reason.Of(reason.ItemParamUnwritable, err.Error()))
	}
	return line
}

// instances reads "per-run" or { pool = 4, max_uses = 100 }.
func (c *converter) instances(raw any) any {
	table, ok := raw.(map[string]any)
	if s, text := raw.(string); text && s == perRun {
		return job.Pool{}
	} else if !ok {
		why := reason.Of(reason.InstancesWanted, kindOf(raw))
		if text {
			why = reason.Of(reason.InstancesUnknown, strconv.Quote(s))
		}
		c.refuse("", why)
		return nil
	}
	var pool job.Pool
	for _, name := range sortedNames(table) {
		sub := "." + quoteKey(name)
		// whole reports to at. That alone does not refuse the table, so the cases below do.
		inner := converter{key: key{takes: number, min: 1, max: job.MaxPool}, at: func(_ string, why reason.Reason) { c.refuse(sub, why) }}
		switch name {
		case "pool":
			pool.Size = inner.whole(table[name])
			c.refused = c.refused || pool.Size == 0
		case "max_uses":
			inner.key.max = 1_000_000_000
			pool.MaxUses = inner.whole(table[name])
			c.refused = c.refused || pool.MaxUses == 0
		default:
			c.refuse(sub, reason.Of(reason.KeyUnknown, "max_uses, pool"))
		}
	}
	if _, ok := table["pool"]; !ok && !c.refused {
		c.refuse("", reason.Of(reason.PoolMissing))
	}
	return pool
}

// whole returns a number within the bounds of the key, or 0 if it was refused.
func (c *converter) whole(raw any) int {
	n, _ := c.number(raw).(int64)
	return int(n)
}

// moment reads a date with a time and a zone, with or without quotes.
func (c *converter) moment(raw any) any {
	if at, ok := raw.(time.Time); ok && !strings.HasSuffix(at.Location().String(), "-local") { // the parser's mark for a missing zone
		return at
	}
	if s, text := raw.(string); text {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err == nil {
			return at
		}
	}
	c.refuse("", reason.Of(reason.MomentWanted))
	return nil
}

// sums reads a table of numbers such as { rows = 3, share = 0.5 }.
func (c *converter) sums(raw any) any {
	table, ok := raw.(map[string]any)
	if !ok {
		c.refuse("", reason.Of(reason.NumbersWanted, kindOf(raw)))
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
			c.refuse("."+quoteKey(name), reason.Of(reason.AnyNumberWanted, kindOf(n)))
		}
	}
	return out
}

// kindOf names the type of a TOML value in a message.
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
