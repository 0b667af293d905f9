package operator

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Limits of a pause.
const (
	maxPause = 366 * 24 * time.Hour
	maxWhy   = 200 // bytes of a reason, also of a silence or drain
)

// PauseTerms are the parameters of a pause, all of them optional. At most one of Until and For is set.
type PauseTerms struct {
	Why   string
	Until time.Time     // by the registry's clock
	For   time.Duration // from now
}

// Pause keeps the job from beginning at its instants until the pause ends or, without an end, until
// Resume. It replaces an existing pause.
func (o *Operator) Pause(ctx context.Context, name string, t PauseTerms) error {
	what := verb{"pause", "job pause"}
	p, err := o.pauseBy(ctx, "pause job "+name, t)
	if err != nil {
		return err
	}
	return o.ask(ctx, what, name, protocol.AskPause{Paused: true, Pause: p})
}

// pauseBy checks the terms of a pause that begins now. Errors begin with what.
func (o *Operator) pauseBy(ctx context.Context, what string, t PauseTerms) (p protocol.Pause, err error) {
	if err := checkWhy(what, t.Why); err != nil {
		return p, err
	}
	if t.For < 0 || t.For != 0 && !t.Until.IsZero() {
		return p, failf(host.Invalid, nil, "%s: write a time from now, or when it ends", what)
	}
	if err := o.Namespace(ctx); err != nil { // surelyNow would create the state of a mistyped one
		return p, err
	}
	now, err := o.surelyNow(ctx)
	if err != nil {
		return p, readError(err, "%s: ask the registry for its time", what)
	}
	p = protocol.Pause{By: o.author.Name, Why: t.Why, Since: now.UnixMilli()}
	if t.For > 0 {
		t.Until = now.Add(t.For)
	}
	if t.Until.IsZero() {
		return p, nil
	}
	if !t.Until.After(now) || t.Until.After(now.Add(maxPause)) {
		return p, failf(host.Invalid, nil, "%s: it cannot end at %s; write a time after %s, at most a year", what, t.Until.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	p.Until = t.Until.UnixMilli()
	return p, nil
}

// surelyNow asks the registry for its time, as now does, but first creates the root of the cluster's state. It
// repeats both if there is no answer, which does no harm.
func (o *Operator) surelyNow(ctx context.Context) (now time.Time, err error) {
	for try := 1; ; try++ {
		if err = o.makeTree(ctx); err == nil {
			now, err = o.now(ctx)
		}
		if !errors.Is(err, registry.ErrUnknown) || try == askTries {
			return now, err
		}
		if err := o.session.Sync(ctx); err != nil {
			return now, err
		}
	}
}

// checkWhy refuses a reason that is too long, or has characters that a terminal may interpret.
func checkWhy(what, why string) error {
	if len(why) > maxWhy {
		return failf(host.Invalid, nil, "%s: the reason has %d bytes; write %d at most", what, len(why), maxWhy)
	}
	if !utf8.ValidString(why) || strings.ContainsFunc(why, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return failf(host.Invalid, nil, "%s: the reason has characters that cannot be seen; write one line of text", what)
	}
	return nil
}

// PauseReport describes a pause.
type PauseReport struct {
	By    string    `json:"by,omitempty"`
	Why   string    `json:"why,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"` // zero: until an operator resumes the job
}

// pauseReport converts a pause of the registry.
func pauseReport(p protocol.Pause) PauseReport {
	return PauseReport{By: p.By, Why: p.Why, Since: moment(p.Since), Until: moment(p.Until)}
}

// Has reports whether an instant came during a pause with an end. It is false without a pause,
// and for a pause without an end.
func (p *PauseReport) Has(at time.Time) bool {
	return at.Before(p.Until) && !at.Before(p.Since)
}

// reason is why nothing begins during the pause.
func (p *PauseReport) reason() reason.Reason {
	q := protocol.Pause{By: p.By, Why: p.Why}
	if !p.Until.IsZero() {
		q.Until = p.Until.UnixMilli()
	}
	return q.Reason()
}
