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

// JobFactor is how many times the lines of one item all items of a job have.
const JobFactor = 20

// Limiter counts the lines of any number of jobs. The zero value is ready.
type Limiter struct {
	mu         sync.Mutex // guards what follows
	buckets    map[source]bucket
	sweepAbove int // how many there may be before those are dropped that are full
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

// TakeLine asks for one line of an item, of which a second may have so many; false
// if it is one too many.
func (l *Limiter) TakeLine(now time.Time, job string, item, perSecond int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	itemSource, jobSource := source{job, item}, source{job, allItems}
	itemBucket, jobBucket := l.bucketOf(itemSource, now, float64(perSecond)), l.bucketOf(jobSource, now, JobFactor*float64(perSecond))
	ok := itemBucket.lines >= 1 && jobBucket.lines >= 1
	if ok {
		itemBucket.lines--
		jobBucket.lines--
	}
	if l.buckets == nil {
		l.buckets = map[source]bucket{}
	}
	l.buckets[itemSource], l.buckets[jobSource] = itemBucket, jobBucket
	if len(l.buckets) > l.sweepAbove {
		maps.DeleteFunc(l.buckets, func(_ source, b bucket) bool { return now.Sub(b.filled) >= time.Second })
		l.sweepAbove = 2*len(l.buckets) + 64
	}
	return ok
}

// Reset gives everybody all lines again.
func (l *Limiter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.buckets)
}

// bucketOf is what a source has left. After a second it has all again, so nothing is
// remembered of one that was silent for so long.
func (l *Limiter) bucketOf(s source, now time.Time, perSecond float64) bucket {
	b, ok := l.buckets[s]
	if !ok {
		return bucket{perSecond, now}
	}
	if elapsed := now.Sub(b.filled); elapsed > 0 {
		b.lines, b.filled = b.lines+elapsed.Seconds()*perSecond, now
	}
	b.lines = min(b.lines, perSecond)
	return b
}
