package runner

import (
	"context"
	"sync"
	"time"
)

// lifetime is how long a member may have something under way.
type lifetime struct {
	ctx        context.Context //nolint:containedctx // that of the member, not of a call
	cancel     context.CancelFunc
	unwatch    func() bool // ends the wait for the end of the server
	goroutines sync.WaitGroup
}

// begin starts the lifetime. It calls onStop when stop ends first.
func (l *lifetime) begin(stop context.Context, onStop func()) {
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(stop))
	l.unwatch = context.AfterFunc(stop, onStop)
}

// start runs f in a goroutine, for whose end wait waits.
func (l *lifetime) start(f func()) { l.goroutines.Go(f) }

// end ends the context of all that is under way.
func (l *lifetime) end() {
	l.unwatch()
	l.cancel()
}

// wait waits until nothing is under way.
func (l *lifetime) wait() { l.goroutines.Wait() }

// exit is whether a member has to end, and how.
type exit struct {
	due   bool
	again bool // another member follows
	err   error
}

func (x *exit) leave(again bool) { x.due, x.again = true, again }

func (x *exit) fail(err error) { x.due, x.err = true, err }

// alarm is the one timer of a member on which the core is asked again.
type alarm struct {
	timer *time.Timer // nil until it is needed
	at    time.Time   // zero: it is not set
}

// set has ring called at the given time, unless it is called earlier anyway.
func (a *alarm) set(at time.Time, ring func()) {
	if !a.at.IsZero() && a.at.Before(at) {
		return
	}
	a.at = at
	wait := max(time.Until(at), 0)
	if a.timer == nil {
		a.timer = time.AfterFunc(wait, ring)
		return
	}
	a.timer.Reset(wait)
}

// rang records that ring was called.
func (a *alarm) rang() { a.at = time.Time{} }

func (a *alarm) stop() { stopTimer(a.timer) }

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}
