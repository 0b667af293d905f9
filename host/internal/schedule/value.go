package schedule

import (
	"strings"
	"time"
)

// after parses what follows the number n at the start of piece s: L, W, #k, a range, a
// step. Anything else is ignored, as Quartz ignores it. rest is the text behind n.
func (p *parser) after(n int, rest, s string) error {
	if rest == "" {
		return p.add(n, -1, -1)
	}
	switch rest[0] {
	case 'L':
		if p.kind != dayOfWeek {
			return p.fail(s, "has L after a number, which only day-of-week takes; for a last day of the month write L or L-%d in day-of-month", n)
		}
		if n < 1 || n > 7 {
			return p.outOfRange(n, -1)
		}
		p.lastWday = true
		p.put(n)
		p.ignored(rest[1:], s)
		return nil
	case 'W':
		if p.kind != dayOfMonth {
			return p.fail(s, "has W, which only day-of-month takes")
		}
		if n > 31 {
			return p.outOfRange(n, -1)
		}
		p.near = true
		p.put(n)
		p.ignored(rest[1:], s)
		return nil
	case '#':
		if p.kind != dayOfWeek {
			return p.fail(s, "has #, which only day-of-week takes")
		}
		return p.numbered(n, rest[1:], s)
	case '-':
		return p.span(n, rest[1:], s)
	case '/':
		step, tail, long, ok := stepOrEnd(rest[1:])
		if !ok || tail != "" && !long { // Quartz ignores a tail only after two digits or more
			return p.fail(s, "needs a whole number after the slash, and nothing else")
		}
		p.ignored(tail, s)
		p.checkStep(step, s)
		return p.add(n, -1, step)
	}
	p.ignored(rest, s)
	return p.add(n, -1, 0)
}

// ignored warns that Quartz ignores rest, the end of piece s, unless rest is empty.
func (p *parser) ignored(rest, s string) {
	if rest != "" {
		p.warn(s, "is read without its end %q, which Quartz ignores", p.written(rest))
	}
}

// checkStep warns about a step that leaves only the first value.
func (p *parser) checkStep(step int, s string) {
	if limit := kinds[p.kind].maxStep; step > limit || step == 0 {
		p.warn(s, "has a step of %d, so that only its first value counts", step)
	}
}

// numbered parses the k of n#k. The weekday n is not checked.
func (p *parser) numbered(n int, k, s string) error {
	nth, ok := javaInt(k)
	if !ok || nth < 1 || nth > 5 {
		return p.fail(s, "needs a number from 1 to 5 after #, such as 6#3 for the third Friday")
	}
	p.nth = nth
	p.put(n)
	return nil
}

// span parses the rest of a range that begins at from: its end and, behind a slash, its
// step.
func (p *parser) span(from int, rest, s string) error {
	to, rest, _, ok := stepOrEnd(rest)
	if !ok {
		return p.fail(s, "needs a number at the end of the range (names go with names only, as in MON-FRI)")
	}
	step := 1
	if tail, slash := strings.CutPrefix(rest, "/"); slash {
		if step, rest, _, ok = stepOrEnd(tail); !ok {
			return p.fail(s, "needs a whole number after the slash")
		}
		p.checkStep(step, s)
	}
	p.ignored(rest, s)
	return p.add(from, to, step)
}

// name parses a month or a weekday, a range of them, a numbered weekday such as MON#2, or a
// last one such as MONL. Only the first three letters of a name count, and what follows
// them is ignored.
func (p *parser) name(s string) error {
	from, rest, ok := p.cutName(s)
	if !ok {
		return p.badName(s)
	}
	switch {
	case strings.HasPrefix(rest, "-"):
		to, tail, ok := p.cutName(rest[1:])
		if !ok {
			return p.badName(s)
		}
		p.ignored(p.afterName(to, tail), s)
		return p.add(from, to, 1)
	case p.kind == dayOfWeek && strings.HasPrefix(rest, "#"):
		return p.numbered(from, rest[1:], s)
	case p.kind == dayOfWeek && strings.HasPrefix(rest, "L"):
		p.lastWday = true
		rest = rest[1:]
	}
	p.ignored(p.afterName(from, rest), s)
	return p.add(from, -1, 0)
}

// afterName returns what is left behind the first three letters of name n: "" if rest
// completes the name, as in MONDAY.
func (p *parser) afterName(n int, rest string) string {
	full := time.Weekday(n - 1).String()
	if p.kind == month {
		full = time.Month(n).String()
	}
	if full = strings.ToUpper(full); rest == full[3:] {
		return ""
	}
	return rest
}

// cutName cuts the name at the start of s and returns its number; false if it is no name of
// the present field.
func (p *parser) cutName(s string) (n int, rest string, ok bool) {
	names := kinds[p.kind].names
	if len(s) < 3 || names == "" {
		return 0, "", false
	}
	for i := 0; i < len(names); i += 3 {
		if names[i:i+3] == s[:3] {
			return i/3 + 1, s[3:], true
		}
	}
	return 0, "", false
}
