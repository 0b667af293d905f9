package schedule

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// sample describes the valid values of a field, for errors.
func (k kind) sample() string {
	if s := kinds[k].sample; s != "" {
		return s
	}
	return fmt.Sprintf("%d-%d, a list, a range, */n or *", kinds[k].min, kinds[k].max)
}

// outOfRange returns the error for a value or range that the present field does not take.
// to is negative if it is not given.
func (p *parser) outOfRange(from, to int) error {
	k := kinds[p.kind]
	token := p.word.raw
	switch {
	case p.kind == dayOfWeek && from == 0:
		return p.fail(token, `is not Quartz (1=SUN..7=SAT); write 1 or SUN for Sunday, or set dialect = "unix"`)
	case p.kind == dayOfWeek:
		return p.fail(token, "is out of range (1=SUN..7=SAT)")
	case p.kind == year || from == math.MaxInt32:
		return p.fail(token, "is too large a number")
	}
	wrong := from
	if from >= k.min && from <= k.max {
		wrong = to
	}
	return p.fail(token, "is out of range: %d is not in %d-%d", wrong, k.min, k.max)
}

// badName returns the error for a text that is no name of a value of the present field.
func (p *parser) badName(s string) error {
	switch p.kind {
	case month:
		return p.fail(s, "is not a month; write JAN-DEC (ranges by names on both sides) or 1-12")
	case dayOfWeek:
		return p.fail(s, "is not a day of the week; write SUN-SAT (ranges by names on both sides) or 1-7")
	case dayOfMonth:
		return p.fail(s, "is not a day of the month; write 1-31, L, L-3, LW, L-3W or 15W")
	}
	return p.fail(s, "is not a number; write %s", p.kind.sample())
}

func countReason(n int) string {
	return fmt.Sprintf("has %d of 6 fields; write second minute hour day-of-month month day-of-week, such as 0 0 9 ? * MON-FRI", n)
}

// withHint adds to an error of Parse what the writer probably meant: Unix cron, which has
// five fields or a word, or a ? in one of the two day fields.
func withHint(err error, ws []word) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case len(ws) > 0 && strings.HasPrefix(ws[0].raw, "@"):
		*e = Error{Text: e.Text, Token: ws[0].raw, Reason: `is not Quartz; write the six fields, such as 0 0 0 * * ?, or set dialect = "unix"`}
	case len(ws) == 5:
		fields := rawWords(ws)
		// It is no Unix cron either, so there is no hint.
		if _, err := ParseUnix(strings.Join(fields, " "), time.UTC); err != nil {
			return e
		}
		cure := `set dialect = "unix"`
		if q := fromUnix(fields); q != "" {
			cure = "write " + q + ", or " + cure
		}
		*e = Error{Text: e.Text, Reason: "has five fields, which is Unix cron; " + cure}
	case len(ws) == 6 && e.Field == "" && ws[dayOfWeek].raw == "*":
		e.Reason += ": " + swapped(ws, dayOfWeek)
	case len(ws) == 6 && e.Field == "" && ws[dayOfMonth].raw == "*":
		e.Reason += ": " + swapped(ws, dayOfMonth)
	}
	return e
}

// rawWords returns the words as they were written.
func rawWords(ws []word) []string {
	raw := make([]string, len(ws))
	for i, w := range ws {
		raw[i] = w.raw
	}
	return raw
}

// swapped spells the expression with ? in the given field.
func swapped(ws []word, k kind) string {
	parts := rawWords(ws)
	parts[k] = "?"
	return strings.Join(parts, " ")
}

// fromUnix converts five Unix fields to Quartz, which counts weekdays from 1, not 0. It
// returns "" if that would take more than a ? and other weekday numbers, or if Quartz
// refuses the result.
func fromUnix(u []string) string {
	dom, dow := u[2], u[4]
	switch {
	case dow == "*" || dow == "?":
		dow = "?"
		if dom == "?" {
			dom = "*"
		}
	case dom == "*" || dom == "?":
		dom = "?"
		// In a step, a number that is no weekday would change as well.
		if strings.ContainsAny(dow, "/") {
			return ""
		}
		dow = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '6' {
				return r + 1
			}
			return r
		}, strings.ToUpper(dow))
	default:
		return "" // either of the two: Quartz cannot express that
	}
	text := strings.Join([]string{"0", u[0], u[1], dom, u[3], dow}, " ")
	if _, err := Parse(text, time.UTC); err != nil {
		return ""
	}
	return text
}
