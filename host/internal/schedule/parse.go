package schedule

import (
	"fmt"
	"strings"
	"time"
)

// maxText bounds a schedule text; the longest sensible one has about 500 bytes.
const maxText = 4096

// Parse reads a cron expression of Quartz 2.2.1: second, minute, hour, day of month, month,
// day of week and optionally year, read in zone loc. It accepts what Quartz accepts, odd
// spellings included; the error is an *Error.
func Parse(text string, loc *time.Location) (*Quartz, error) {
	if err := checkText(text, loc); err != nil {
		return nil, err
	}
	p := parser{text: text}
	p.f.lastYear = int32(clampYear(LastYear))
	if err := p.parse(); err != nil {
		return nil, err
	}
	return &Quartz{text: text, loc: loc, f: p.f, warnings: p.warnings}, nil
}

// checkText refuses what no dialect takes: a text that is far too long, or no zone.
func checkText(text string, loc *time.Location) error {
	switch {
	case loc == nil:
		return &Error{Text: text, Reason: "has no time zone"}
	case len(text) > maxText:
		return &Error{Text: text[:64] + "...", Reason: fmt.Sprintf("has %d bytes, more than %d", len(text), maxText)}
	}
	return nil
}

// parser turns one text into fields.
type parser struct {
	text string
	f    fields
	kind kind
	word word
	sets [7]members

	lastDay, near  bool // L and W seen in day-of-month
	lastWday       bool // L seen in day-of-week
	lastShift, nth int
	warnings       []string
}

// word is one blank-separated part of the text.
type word struct {
	raw    string // as written
	text   string // in capitals, without control characters around it
	offset int    // of raw in the whole text
}

// words divides a text at its blanks and tabs. Control characters around a word do not
// count, as in Java.
func words(text string) []word {
	var ws []word
	for i := 0; i < len(text); {
		if text[i] == ' ' || text[i] == '\t' {
			i++
			continue
		}
		end := i + strings.IndexAny(text[i:], " \t")
		if end < i {
			end = len(text)
		}
		raw := text[i:end]
		trimmed := strings.TrimFunc(strings.ToUpper(raw), func(r rune) bool { return r <= ' ' })
		ws = append(ws, word{raw: raw, text: trimmed, offset: i})
		i = end
	}
	return ws
}

// parse reads all fields, checks them together, and converts them. Exactly one of the two
// day fields must be a ?.
func (p *parser) parse() error {
	ws := words(p.text)
	for k := second; k <= year && int(k) < len(ws); k++ {
		p.kind, p.word = k, ws[k]
		if err := p.field(); err != nil {
			return withHint(err, ws)
		}
	}
	if len(ws) < 6 {
		return withHint(&Error{Text: p.text, Reason: countReason(len(ws))}, ws)
	}
	if len(ws) == 6 { // without a year, any year is listed
		p.kind = year
		if err := p.add(anyMark, -1, -1); err != nil {
			return err
		}
	}
	dom, dow := &p.sets[dayOfMonth], &p.sets[dayOfWeek]
	if dom.open == dow.open {
		p.kind, p.word = dayOfMonth, ws[dayOfMonth]
		both := fmt.Sprintf("day-of-month %s and day-of-week %s", ws[dayOfMonth].raw, ws[dayOfWeek].raw)
		reason := both + " cannot both be given; write ? for the one that shall not count"
		if dom.open {
			reason = both + " cannot both be left open; write * in place of one ?"
		}
		return withHint(&Error{Text: p.text, Offset: ws[dayOfMonth].offset, Reason: reason}, ws)
	}
	if len(ws) > 7 {
		p.warnings = append(p.warnings, ws[7].raw+" and everything after it is ignored: a schedule has at most seven fields")
	}
	p.finish()
	return nil
}

// field reads the word of one field into its set.
func (p *parser) field() error {
	w := p.word.text
	list := strings.Contains(w, ",")
	if list && strings.Contains(w, "L") && (p.kind == dayOfMonth || p.kind == dayOfWeek) {
		return p.fail(p.word.raw, "has L in a list, which Quartz refuses; let L stand alone")
	}
	if p.kind == dayOfWeek && strings.Count(w, "#") > 1 {
		return p.fail(p.word.raw, "has more than one #; a schedule can have one numbered weekday only")
	}
	for piece := range strings.SplitSeq(w, ",") {
		if piece == "" {
			continue
		}
		if err := p.piece(piece); err != nil {
			return err
		}
	}
	if list && (p.kind == dayOfMonth && p.near || p.kind == dayOfWeek && p.nth > 0) {
		p.warn(w, "applies W or # to the smallest day of the list; the others are ignored")
	}
	return nil
}

// fail returns an error about the present field. token is the piece of it that is wrong.
func (p *parser) fail(token, format string, args ...any) error {
	return &Error{
		Text: p.text, Field: p.kind.String(), Token: p.written(token), Offset: p.word.offset,
		Reason: fmt.Sprintf(format, args...),
	}
}

// warn records text that is valid but surely unintended.
func (p *parser) warn(token, format string, args ...any) {
	p.warnings = append(p.warnings, p.kind.String()+" "+p.written(token)+" "+fmt.Sprintf(format, args...))
}

// written returns a piece of the present word as it was written, since the parser has it in
// capitals.
func (p *parser) written(piece string) string {
	raw := p.word.raw
	if i := strings.Index(strings.ToUpper(raw), piece); i >= 0 && i+len(piece) <= len(raw) && strings.EqualFold(raw[i:i+len(piece)], piece) {
		return raw[i : i+len(piece)]
	}
	return piece
}

// finish converts the sets to the form that searches need. It picks the rule for days: if
// day-of-week is a ?, from day-of-month, otherwise from day-of-week.
func (p *parser) finish() {
	f := &p.f
	f.second, f.minute = p.sets[second].bits, p.sets[minute].bits
	f.hour, f.month = uint32(p.sets[hour].bits), uint16(p.sets[month].bits)
	dom, dow := &p.sets[dayOfMonth], &p.sets[dayOfWeek]
	if dow.open {
		f.days = uint32(dom.bits)
		f.rule, f.pick, f.shift = byDay, dom.smallest(), uint8(p.lastShift)
		switch {
		case p.lastDay && p.near:
			// A short month has no such day.
			f.rule, f.odd = byLastNear, p.lastShift >= 28
			if f.odd {
				p.warnings = append(p.warnings, "the schedule ends for good at the first month that is too short for its day-of-month")
			}
		case p.lastDay:
			f.rule = byLast
		case p.near:
			f.rule, f.odd = byNear, f.pick > 28
		}
		// With 0W, Quartz loops forever at the end of the month.
		if f.rule == byNear && f.pick == 0 {
			f.never = "day-of-month 0W is no day"
		}
	} else {
		f.weekdays = uint8(dow.bits)
		f.rule, f.pick, f.shift = byWeekday, dow.smallest(), uint8(p.nth)
		switch {
		case p.lastWday:
			f.rule = byLastWday
		case p.nth > 0:
			f.rule = byNthWday
			if dow.bits == 0 {
				f.never = "day-of-week names no weekday (1=SUN..7=SAT)"
			} else if f.pick == 0 {
				f.pick = 7 // Quartz moves from 0 to the Saturday before
			}
		}
	}
	for k := second; k <= year; k++ {
		if empty := p.sets[k].empty(); empty && f.never == "" && !p.exempt(k) {
			f.never = k.String() + " lists nothing that can be reached"
		}
	}
	if f.never == "" {
		f.seal()
	}
}

// exempt reports whether a field may list no value: the day of the month if it comes from
// L, or the one of the two day fields that does not count.
func (p *parser) exempt(k kind) bool {
	switch k {
	case dayOfMonth:
		return p.sets[dayOfMonth].open || p.lastDay
	case dayOfWeek:
		return p.sets[dayOfWeek].open
	}
	return false
}
