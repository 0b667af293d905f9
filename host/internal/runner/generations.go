package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// generations runs the job on this server from Start to its end: one member after
// another, each on a job session of its own.
type generations struct {
	*Runner
	stop        context.Context //nolint:containedctx // its end ends the job here
	ended       func(error)     // called once, when no member follows
	pause       *backoff.Backoff
	leftOpen    bool // an earlier member's record is in the registry and is not empty
	sessionLost bool // an earlier member ended with its session

	cutOffIDs []job.InstanceID // the newest members that ended without the registry
	cutOff    []openRuns       // the runs that these members had open

	removed bool // somebody has removed the nodes of the newest member that had joined
}

// memberEnd says how a member ended.
type memberEnd struct {
	again      bool     // another member follows
	joined     bool     // it had joined the job
	recordOpen bool     // its record was left non-empty
	cutOff     bool     // it ended without the registry
	runs       openRuns // if it had joined
	err        error
}

// Start runs the job until ctx ends. Then it lets guests finish, stores their rows and
// leaves the job. It returns at once and can be called once. When everything that it
// started has ended, it calls ended, also if an operator has shut the job down on this
// server; then the error is nil.
func (r *Runner) Start(ctx context.Context, ended func(error)) {
	l := &generations{Runner: r, stop: ctx, ended: ended, pause: new(backoff.Backoff)}
	go l.startNext()
}

// startNext starts the next member. It returns when that member has begun, or when none
// follows.
func (l *generations) startNext() {
	for {
		m, err := l.openMember()
		if err == nil {
			m.start(l.stop)
			return
		}
		if !l.awaitNext(memberEnd{again: !errors.Is(err, errConfig), err: err}) {
			return
		}
	}
}

// errConfig ends the job here: another member could not join either.
var errConfig = errors.New("the configuration cannot be written into the registry")

// openMember makes a member on a new job session.
func (l *generations) openMember() (*member, error) {
	inbox := &inbox{troubles: &l.troubles}
	js, err := l.Sessions.Open(l.stop, l.Layout.Root(), inbox)
	if err != nil {
		return nil, err
	}
	m, err := newMember(l, inbox, js)
	if err != nil {
		l.closeSession(js)
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	m.initialRead = l.Looks.take(l.stop)
	l.troubles.clear(troubleLoop)
	return m, nil
}

// awaitNext decides whether another member follows one that has ended as was says, and
// waits until it may begin. If none follows, it ends the runner and returns false. The job
// ends here without an error if the server shuts down and no record was left open.
func (l *generations) awaitNext(was memberEnd) bool {
	l.sessionLost = errors.Is(was.err, registry.ErrEnded) && (was.joined || l.sessionLost)
	if was.joined && (l.sessionLost || was.cutOff) {
		l.rememberCutOff(was.runs)
	}
	if was.joined {
		l.leftOpen, l.pause = was.recordOpen, new(backoff.Backoff)
	}
	switch {
	case !was.again:
		l.end(was.err)
		return false
	case l.stop.Err() != nil && l.leftOpen:
		l.end(fmt.Errorf("%w: %w", ErrUnsafe, was.err))
		return false
	case l.stop.Err() != nil:
		l.end(nil) // nothing was cut short
		return false
	case errors.Is(was.err, registry.ErrEnded):
		return true // openMember waits for the next session
	}
	wait := l.pause.Next()
	if !l.removed { // setRemoved has logged the cause
		l.Log.Warn("the job begins again on this server", "pause", wait.String(), "cause", was.err)
	}
	session.Sleep(l.stop, wait)
	return true
}

// end ends the job on this server. The runner no longer follows its nodes, so the status
// no longer shows the last view.
func (l *generations) end(err error) {
	l.storeCutOff()
	if was := l.snapshot.Load(); was != nil {
		l.snapshot.Store(&snapshot{view: &protocol.View{}, effective: was.effective})
	}
	l.requests.close()
	l.ended(err)
}

// closeSession closes a job session. No other member can begin before that has succeeded.
// If the job ends here, the server's session goes on trying.
func (l *generations) closeSession(js *session.Job) {
	logged := false
	for p := new(backoff.Backoff); ; {
		last := l.stop.Err() != nil // the server shuts down, so this attempt is the last one here
		err := closeOnce(l.stop, js)
		if err == nil {
			l.troubles.clear(troubleLeft)
			return
		}
		if last {
			l.Log.Warn("nodes of the job are still in the registry; they are deleted as soon as it answers, or with the session", "error", err)
			js.Abandon()
			return
		}
		l.troubles.set(troubleLeft, err.Error())
		if !logged {
			logged = true
			l.Log.Error("the job cannot begin again on this server before its earlier nodes are deleted", "error", err)
		}
		session.Sleep(l.stop, p.Next())
	}
}

// closeOnce tries to close a job session once, even if stop has ended.
func closeOnce(stop context.Context, js *session.Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(stop), leaveTimeout)
	defer cancel()
	return js.Close(ctx)
}

// setRemoved records whether somebody has removed the job's nodes since the server joined
// the job.
func (l *generations) setRemoved(is bool) {
	if is == l.removed {
		return
	}
	if l.removed = is; !is {
		l.troubles.clear(troubleRemoved)
		return
	}
	why := reason.Of(reason.JobRemoved)
	l.Log.Warn("the job was removed", "reason", why.String(), "reason_code", why.Code)
	l.troubles.because(troubleRemoved, []reason.Reason{why})
}
