package runner

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// beatsPerTimeout: so often a session time-out has a heartbeat of ours. The
// adapter's own do not tell when they were sent.
const beatsPerTimeout = 6

// moment is a point in time from which even a suspended machine counts on.
type moment struct {
	at    time.Time
	slept time.Duration // up to then
}

func thisMoment() moment { return moment{time.Now(), suspended()} }

// sleepNoise is what reading two clocks one after the other may pretend.
const sleepNoise = time.Second

func (m moment) ago() time.Duration {
	d := time.Since(m.at)
	if slept := suspended() - m.slept; slept > sleepNoise {
		d += slept
	}
	return d
}

// beat asks the registry, again and again, whether the session is alive. What
// counts is when an acknowledged question was sent: the service may have
// counted from that moment on.
func (m *member) beat(ctx context.Context) {
	every := m.session.Timeout() / beatsPerTimeout
	if every <= 0 {
		return
	}
	for sleep(ctx, every) {
		sent := thisMoment()
		if m.session.Sync(ctx) == nil {
			m.box.acknowledge(sent)
		}
	}
}

// judge tells the core how far the session can be trusted, by the time that
// has passed, and sees to it that the loop looks again when that changes.
func (m *member) judge(ctx context.Context) {
	granted := m.session.Timeout()
	if granted <= 0 {
		return
	}
	if t := m.box.lastAck(); t.at.After(m.acked.at) {
		m.acked = t
	}
	half, most := granted/2, granted*3/4
	passed := m.acked.ago()
	level, again := protocol.Trusted, half-passed
	switch {
	case passed >= most:
		level, again = protocol.Expired, 0
	case passed >= half:
		level, again = protocol.Doubtful, most-passed
	}
	if again > 0 {
		m.suspect.Reset(again)
	}
	if level == m.doubt {
		return
	}
	m.doubt = level
	if level == protocol.Trusted {
		m.Log.Info("the registry answers again")
		m.troubles.clear(troubleDoubt)
	} else {
		m.Log.Error("the registry has not answered for long, nothing begins", "for", passed.String(), "session_timeout", granted.String())
		m.troubles.set(troubleDoubt, "the registry has not answered for long")
	}
	m.advance(ctx, protocol.Doubted{Level: level})
}
