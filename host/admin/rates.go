package admin

import (
	"sync"
	"time"
)

// maxRates is the limit of keys with a rate of their own. Further keys share one rate,
// so that a caller with many addresses takes no memory.
const maxRates = 4096

// sweepPause is the least time between two searches for unused keys, which take long.
const sweepPause = time.Second

// rates bounds how often each of many keys does something: at most burst times at
// once, and perSecond times in the long run.
type rates struct {
	burst, perSecond float64

	mu    sync.Mutex
	of    map[string]*rate // guarded by mu
	swept time.Time        // when keys were last removed, guarded by mu
}

// rate is what a key has left.
type rate struct {
	left  float64
	since time.Time // the moment of left
}

func newRates(burst, perSecond float64) *rates {
	return &rates{burst: burst, perSecond: perSecond, of: map[string]*rate{}}
}

// take uses up one request of those that a key may still send, and returns 0. If there is
// none left, it returns how long the key has to wait for the next one.
func (l *rates) take(key string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.of[key]
	if r == nil {
		r = l.add(key, now)
	}
	r.left, r.since = l.at(r, now), now
	if r.left < 1 {
		return time.Duration((1 - r.left) / l.perSecond * float64(time.Second))
	}
	r.left--
	return 0
}

// at returns what a rate has left at a moment.
func (l *rates) at(r *rate, now time.Time) float64 {
	return min(l.burst, r.left+max(0, now.Sub(r.since).Seconds())*l.perSecond)
}

// add adds a key. If there are too many, it first removes keys that have their full rate.
func (l *rates) add(key string, now time.Time) *rate {
	if len(l.of) >= maxRates && now.Sub(l.swept) >= sweepPause {
		l.swept = now
		for k, r := range l.of {
			if l.at(r, now) >= l.burst {
				delete(l.of, k)
			}
		}
	}
	if len(l.of) >= maxRates { // still: it shares the rate of all further keys
		key = ""
	}
	if l.of[key] == nil {
		l.of[key] = &rate{left: l.burst, since: now}
	}
	return l.of[key]
}
