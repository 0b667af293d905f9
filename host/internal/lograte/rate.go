// Package lograte limits how many lines guests log. It counts lines only: it
// does not know what a line contains or what happens to a dropped one.
//
// Each item may log a number of lines per second, and the same number at once
// after a pause. All runs and attempts of an item share this rate. All items of
// a job together have JobFactor times the rate of one item, so that a job of a
// thousand items does not log a thousand times as much as a job of one.
package lograte

import (
	"maps"
	"sync"
	"time"
)

// JobFactor is the line rate of a whole job as a multiple of the rate of one item.
const JobFactor = 20

// Limiter limits the lines of any number of jobs. The zero value is ready to use.
type Limiter struct {
	mu         sync.Mutex // guards the fields below
	buckets    map[source]bucket
	sweepAbove int // number of buckets above which full ones are removed
}

// source is an item of a job, or allItems for the job as a whole.
type source struct {
	job  string
	item int
}

// allItems stands for the item of a source that is a whole job.
const allItems = -1

// bucket is a token bucket: the lines left when it was last filled.
type bucket struct {
	lines  float64
	filled time.Time
}

// TakeLine takes one line from an item that may log perSecond lines per second.
// It returns false if the item or its job has none left.
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
	if len(l.buckets) > l.sweepAbove { // a bucket that was not used for a second is full; see bucketOf
		maps.DeleteFunc(l.buckets, func(_ source, b bucket) bool { return now.Sub(b.filled) >= time.Second })
		l.sweepAbove = 2*len(l.buckets) + 64
	}
	return ok
}

// Reset fills all buckets.
func (l *Limiter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.buckets)
}

// bucketOf returns the bucket of s as filled up until now, at perSecond lines a second and with
// room for as many. A bucket is full after a second without lines, so a missing one is a full
// one. mu is held.
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
