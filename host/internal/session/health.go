package session

import (
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Health is how sure this server can be that the service has not ended its session
// without the server knowing.
type Health uint8

const (
	// Trusted means that the session is certain to live.
	Trusted Health = iota
	// Doubtful means that half of the time-out has passed since the newest acknowledged
	// transaction was sent. No run may begin.
	Doubtful
	// Lost means that three quarters of the time-out have passed. Everything that must
	// not go on without a session has to have ended.
	Lost
)

// checksPerTimeout is how often per time-out the health is checked: whether an answer has
// ended the doubt, or a silence has begun one. A single long timer would not do, because
// it stands still while the machine sleeps, as Go's clock does.
const checksPerTimeout = 20

// moment is a point in time. It includes the time that the machine was asleep,
// which Go's clock does not count.
type moment struct {
	at    time.Time
	slept time.Duration // how long the machine had been asleep until then
}

// moment returns the present moment.
func (s *Server) moment() moment { return moment{time.Now(), s.options.Slept()} }

// sleepNoise is the largest difference that may come from reading two clocks one
// after the other; only a larger one is a sleep.
const sleepNoise = time.Second

// since returns the time between an earlier moment and this one.
func (m moment) since(earlier moment) time.Duration {
	d := m.at.Sub(earlier.at)
	if slept := m.slept - earlier.slept; slept > sleepNoise {
		d += slept
	}
	return d
}

// monitor measures the health of one session.
type monitor struct {
	session registry.Session
	now     func() moment
	woken   chan struct{} // holds one value: the watcher must check again

	mu           sync.Mutex // guards the fields below
	lastCheck    moment     // when silence was last called
	wokeAt       time.Time  // when silence was first called after the machine had slept; zero: it has not
	acknowledged moment     // when the newest acknowledged transaction that counts was sent
	reported     Health     // what was last reported to the jobs
	regained     bool       // since then a job has seen a better health
}

// newMonitor returns the monitor of a session whose opening was requested at the
// moment asked.
func newMonitor(s registry.Session, clock func() moment, asked moment) *monitor {
	return &monitor{session: s, now: clock, woken: make(chan struct{}, 1), lastCheck: asked, acknowledged: asked}
}

// health returns the health now, the time since the newest acknowledged transaction
// was sent, and after what time to check again; 0: never.
func (m *monitor) health() (health Health, silent, again time.Duration) {
	granted := m.session.Timeout()
	if granted <= 0 { // the registry inside ends no session
		return Trusted, 0, 0
	}
	silent = m.silent()
	half, most := granted/2, granted*3/4
	switch {
	case silent >= most:
		return Lost, silent, granted / checksPerTimeout
	case silent >= half:
		return Doubtful, silent, min(most-silent, granted/checksPerTimeout)
	}
	return Trusted, silent, min(half-silent, granted/checksPerTimeout)
}

// healthForJob returns the health to a job, which may begin a run because of it. The
// watcher checks rarely, and reports only changes to the jobs. If the health is better now
// than it has reported, and became worse again before its next check, it would see no change
// and not report the new doubt. So healthForJob wakes the watcher in that case.
func (m *monitor) healthForJob() Health {
	health, _, _ := m.health()
	m.mu.Lock()
	defer m.mu.Unlock()
	if health < m.reported {
		m.regained = true
		select {
		case m.woken <- struct{}{}:
		default:
		}
	}
	return health
}

// healthForWatcher returns the health to the watcher, which reports it to the jobs, and
// whether a job has seen a better health since the last check.
func (m *monitor) healthForWatcher() (health Health, silent, again time.Duration, regained bool) {
	health, silent, again = m.health()
	m.mu.Lock()
	defer m.mu.Unlock()
	regained, m.regained, m.reported = m.regained, false, health
	return health, silent, again, regained
}

// left returns for how long the session is certain not to become Lost, even if no
// further answer comes; negative if it is Lost already. bounded is false if the
// registry ends no sessions.
func (m *monitor) left() (left time.Duration, bounded bool) {
	granted := m.session.Timeout()
	if granted <= 0 {
		return 0, false
	}
	return granted*3/4 - m.silent(), true
}

// silent returns the time since the newest acknowledged transaction was sent. After a sleep
// of the machine, an acknowledgement counts only if its transaction was sent after the
// sleep: an older one does not show that the session still lives.
func (m *monitor) silent() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if now.since(m.lastCheck) > now.at.Sub(m.lastCheck.at) {
		m.wokeAt = now.at // acknowledgements may belong to transactions sent before the sleep
	}
	if at := m.session.Acknowledged(); at.After(m.acknowledged.at) && at.After(m.wokeAt) {
		m.acknowledged = moment{at, now.slept}
	}
	m.lastCheck = now
	return now.since(m.acknowledged)
}
