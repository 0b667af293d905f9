package session

import (
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Trust is how far a session can be trusted: whether the service may have
// ended it without anybody having heard.
type Trust uint8

const (
	// Trusted: the session is ours.
	Trusted Trust = iota
	// Doubtful: half of the time-out has passed since a transaction was sent that
	// was acknowledged. Nothing should begin.
	Doubtful
	// Expired: three quarters have; what must not go on without a session has to
	// have ended.
	Expired
)

// looksPerTimeout is how often somebody looks how far the session can be trusted:
// whether one in doubt has answered, and whether one beyond doubt still is. A timer
// that is set for longer stands still while the machine sleeps, as Go's clock does.
const looksPerTimeout = 20

// moment is a point in time from which even a suspended machine counts on.
type moment struct {
	at    time.Time
	slept time.Duration // up to then
}

func (t *Trunk) thisMoment() moment { return moment{time.Now(), t.o.Slept()} }

// sleepNoise is what reading two clocks one after the other may pretend.
const sleepNoise = time.Second

// since is the time from an earlier moment to this one.
func (m moment) since(earlier moment) time.Duration {
	d := m.at.Sub(earlier.at)
	if slept := m.slept - earlier.slept; slept > sleepNoise {
		d += slept
	}
	return d
}

// judge tells how far one session can be trusted, whoever asks.
type judge struct {
	session registry.Session
	clock   func() moment
	roused  chan struct{} // holds one: somebody is to look again

	mu     sync.Mutex // guards what follows
	told   Trust      // to the lines, last
	more   bool       // since then somebody has trusted the session more
	looked moment     // when somebody asked last
	woke   time.Time  // when somebody asked first after the machine had slept; zero: it has not
	acked  moment     // when the newest transaction was sent that was acknowledged, and counts
}

// newJudge is for a session that was asked for at a moment.
func newJudge(s registry.Session, clock func() moment, asked moment) *judge {
	return &judge{session: s, clock: clock, roused: make(chan struct{}, 1), looked: asked, acked: asked}
}

// trust tells how far the session can be trusted now, for how long it has been
// silent, and when to look again; 0 is never.
func (j *judge) trust() (level Trust, silent, again time.Duration) {
	granted := j.session.Timeout()
	if granted <= 0 {
		return Trusted, 0, 0
	}
	silent = j.silent()
	half, most := granted/2, granted*3/4
	switch {
	case silent >= most:
		return Expired, silent, granted / looksPerTimeout
	case silent >= half:
		return Doubtful, silent, min(most-silent, granted/looksPerTimeout)
	}
	return Trusted, silent, min(half-silent, granted/looksPerTimeout)
}

// ask is trust for a job, which may begin something now. Others look seldom: if this
// trust were over before they do, the lines would not hear that it is, since that is
// what they were told before.
func (j *judge) ask() Trust {
	level, _, _ := j.trust()
	j.mu.Lock()
	defer j.mu.Unlock()
	if level < j.told {
		j.more = true
		select {
		case j.roused <- struct{}{}:
		default:
		}
	}
	return level
}

// look is trust for who tells the lines, and whether a job has trusted the session
// more than it was told last.
func (j *judge) look() (level Trust, silent, again time.Duration, regained bool) {
	level, silent, again = j.trust()
	j.mu.Lock()
	defer j.mu.Unlock()
	regained, j.more, j.told = j.more, false, level
	return level, silent, again, regained
}

// left is for how long the session is not Expired, whatever happens, if it can be at
// all; less than 0: it is.
func (j *judge) left() (left time.Duration, bounded bool) {
	granted := j.session.Timeout()
	if granted <= 0 {
		return 0, false
	}
	return granted*3/4 - j.silent(), true
}

func (j *judge) silent() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.clock()
	if now.since(j.looked) > now.at.Sub(j.looked.at) {
		j.woke = now.at // what was sent before may have been sent before the machine slept
	}
	if at := j.session.Acknowledged(); at.After(j.acked.at) && at.After(j.woke) {
		j.acked = moment{at, now.slept}
	}
	j.looked = now
	return now.since(j.acked)
}
