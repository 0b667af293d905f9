package runner

import (
	"context"
	"sync"
	"time"
)

// lifetime is the time in which a member may have something under way.
type lifetime struct {
	ctx        context.Context //nolint:containedctx // of the member, not of a call
	cancel     context.CancelFunc
	unwatch    func() bool // ends the wait for the server's end
	goroutines sync.WaitGroup
}

// begin starts the lifetime. It calls onStop if stop ends first.
func (l *lifetime) begin(stop context.Context, onStop func()) {
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(stop))
	l.unwatch = context.AfterFunc(stop, onStop)
}

// start runs f in a goroutine. wait waits for its end.
func (l *lifetime) start(f func()) { l.goroutines.Go(f) }

// end cancels the context of everything under way.
func (l *lifetime) end() {
	l.unwatch()
	l.cancel()
}

// wait returns when all goroutines of start have ended.
func (l *lifetime) wait() { l.goroutines.Wait() }

// exit says whether and how a member has to end.
type exit struct {
	due   bool
	again bool // another member follows
	err   error
}

// leave makes the member end; again says that another member follows.
func (x *exit) leave(again bool) { x.due, x.again = true, again }

// fail makes the member end with an error.
func (x *exit) fail(err error) { x.due, x.err = true, err }

// alarm is a member's one timer, at which the core decides again.
type alarm struct {
	timer *time.Timer // nil until it is needed
	at    time.Time   // zero if not set
}

// set has ring called at the given time, unless an earlier call is set already.
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

// rang records that the timer has fired.
func (a *alarm) rang() { a.at = time.Time{} }

func (a *alarm) stop() { stopTimer(a.timer) }

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}
