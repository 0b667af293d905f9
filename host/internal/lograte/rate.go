// Package lograte bounds how many lines guests log, whatever runs them. It counts;
// what a line is, and what becomes of one too many, is not its business.
//
// An item has its lines a second, and as many at once after a pause: its runs and
// their attempts follow each other, and share them. All items of a job together
// have Together times that, so that a job of a thousand items does not log a
// thousand times as much as one.
package lograte

import (
	"maps"
	"sync"
	"time"
)

// Together is how many times the lines of one item all items of a job have.
const Together = 20

// Limiter counts the lines of any number of jobs. The zero value is ready.
type Limiter struct {
	mu    sync.Mutex // guards what follows
	left  map[source]bucket
	sweep int // how many there may be before those are dropped that are full
}

// source is an item; allItems stands for those of a job together.
type source struct {
	job  string
	item int
}

const allItems = -1

type bucket struct {
	lines  float64
	filled time.Time
}

// Take asks for one line of an item, of which a second may have so many; false
// if it is one too many.
func (l *Limiter) Take(now time.Time, job string, item, perSecond int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one, all := source{job, item}, source{job, allItems}
	ofOne, ofAll := l.at(one, now, float64(perSecond)), l.at(all, now, Together*float64(perSecond))
	ok := ofOne.lines >= 1 && ofAll.lines >= 1
	if ok {
		ofOne.lines--
		ofAll.lines--
	}
	if l.left == nil {
		l.left = map[source]bucket{}
	}
	l.left[one], l.left[all] = ofOne, ofAll
	if len(l.left) > l.sweep {
		maps.DeleteFunc(l.left, func(_ source, b bucket) bool { return now.Sub(b.filled) >= time.Second })
		l.sweep = 2*len(l.left) + 64
	}
	return ok
}

// Forget gives everybody all lines again.
func (l *Limiter) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.left)
}

// at is what a source has left. After a second it has all again, so nothing is
// remembered of one that was silent for so long.
func (l *Limiter) at(s source, now time.Time, perSecond float64) bucket {
	b, ok := l.left[s]
	if !ok {
		return bucket{perSecond, now}
	}
	if since := now.Sub(b.filled); since > 0 {
		b.lines, b.filled = b.lines+since.Seconds()*perSecond, now
	}
	b.lines = min(b.lines, perSecond)
	return b
}
