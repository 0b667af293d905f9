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

// lives is the job on this server from Start to its end: one member after the
// other.
type lives struct {
	*Runner
	stop  context.Context //nolint:containedctx // its end ends the job here
	ended func(error)
	pause *backoff.Backoff
	left  bool // something that an earlier life left is in the registry
	lost  bool // an earlier life ended with its session

	former []job.InstanceID // the newest that did
	cut    []cutLife        // what they had open

	removed bool // somebody has removed the nodes of the newest life that had joined
}

// life is how the life of a member went.
type life struct {
	again  bool // there is to be another
	joined bool
	open   bool    // its record was left with something in it
	cut    bool    // it ended without the registry
	had    cutLife // if it had joined
	err    error
}

// Start runs the job until ctx ends, and then lets its guests finish, stores
// their rows and leaves the job. It returns at once. When all that it started
// has ended, ended is told; nil also when an operator shut the job down on this
// server. It can be called once.
func (r *Runner) Start(ctx context.Context, ended func(error)) {
	l := &lives{Runner: r, stop: ctx, ended: ended, pause: new(backoff.Backoff)}
	go l.next()
}

// next begins another life. It returns when that has begun, or when there is
// to be none.
func (l *lives) next() {
	for {
		m, err := l.newLife()
		if err == nil {
			m.begin(l.stop)
			return
		}
		if !l.another(life{again: !errors.Is(err, errConfig), err: err}) {
			return
		}
	}
}

// errConfig: the job's configuration cannot be spelled.
var errConfig = errors.New("the configuration cannot be written into the registry")

// newLife makes a member on a new line.
func (l *lives) newLife() (*member, error) {
	inbox := &inbox{troubles: &l.troubles}
	line, err := l.Sessions.Open(l.stop, l.Layout.Root(), inbox)
	if err != nil {
		return nil, err
	}
	m, err := newMember(l, inbox, line)
	if err != nil {
		l.hangUp(line)
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	m.looking = l.Looks.take(l.stop)
	l.troubles.clear(troubleLoop)
	return m, nil
}

// another says, when a life is over, whether there is to be another one, and
// waits until it may begin. If not, the runner has ended.
func (l *lives) another(how life) bool {
	l.lost = errors.Is(how.err, registry.ErrEnded) && (how.joined || l.lost)
	if how.joined && (l.lost || how.cut) {
		l.survive(how.had)
	}
	if how.joined {
		l.left, l.pause = how.open, new(backoff.Backoff)
	}
	switch {
	case !how.again:
		l.over(how.err)
		return false
	case l.stop.Err() != nil && l.left:
		l.over(fmt.Errorf("%w: %w", ErrUnsafe, how.err))
		return false
	case l.stop.Err() != nil:
		l.over(nil) // nothing was cut short
		return false
	case errors.Is(how.err, registry.ErrEnded):
		return true // the next session is waited for
	}
	wait := l.pause.Next()
	if !l.removed { // what that means was told
		l.Log.Warn("the job begins again on this server", "pause", wait.String(), "cause", how.err)
	}
	session.Sleep(l.stop, wait)
	return true
}

// over ends the job on this server: nobody looks at it here any more, so what was seen
// last is not told as what is.
func (l *lives) over(err error) {
	l.untold()
	if was := l.snapshot.Load(); was != nil {
		l.snapshot.Store(&snapshot{view: &protocol.View{}, effective: was.effective})
	}
	l.close()
	l.ended(err)
}

// hangUp closes a line. As long as that does not succeed there can be no other
// life; when the job is to end here, the session goes on trying.
func (l *lives) hangUp(line *session.Job) {
	told := false
	for p := new(backoff.Backoff); ; {
		last := l.stop.Err() != nil
		err := closeWithin(l.stop, line)
		if err == nil {
			l.troubles.clear(troubleLeft)
			return
		}
		if last {
			l.Log.Warn("what the job has left is removed as soon as the registry lets us, or with the session", "error", err)
			line.Abandon()
			return
		}
		l.troubles.set(troubleLeft, err.Error())
		if !told {
			told = true
			l.Log.Error("the job cannot begin again on this server before what it has left is removed", "error", err)
		}
		session.Sleep(l.stop, p.Next())
	}
}

// closeWithin tries it once, also when stop has ended.
func closeWithin(stop context.Context, line *session.Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(stop), leaveTimeout)
	defer cancel()
	return line.Close(ctx)
}

// setRemoved notes whether somebody has removed the job's nodes since the server
// joined it.
func (l *lives) setRemoved(is bool) {
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
