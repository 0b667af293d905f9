package schedule

import "time"

// beyondAll is an instant in the year 5138, after every year that fields can list.
// Later ones need no search.
const beyondAll = 100_000_000_000

// next returns the first instant, in Unix seconds, that is not before from; false if there
// is none. Far from clock changes it searches on local dates alone. If the day rule is odd,
// or a change is near from or the result, it replays Quartz's search.
func (f *fields) next(loc *time.Location, from int64) (int64, bool) {
	if f.never != "" || from > beyondAll {
		return 0, false
	}
	// No year before 1970 is ever listed.
	from = max(from, -2*daySeconds)
	here := spanAt(loc, from)
	if f.odd || !here.calm(from) {
		return f.search(loc, here, from)
	}
	wall, ok := f.civilNext(max(from+here.offset, 0))
	if !ok {
		return 0, false
	}
	at := wall - here.offset
	if here.calm(at) {
		return at, true
	}
	there := spanAt(loc, at) // the result may be in a later span, with another offset
	if at = wall - there.offset; there.calm(at) {
		return at, true
	}
	return f.search(loc, here, from)
}
