package operator

import (
	"context"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// before reads the jobs after which a job runs, and returns what is wrong with them.
func (o *Operator) before(ctx context.Context, r *JobReport) (views []*protocol.View, wrong []reason.Reason, err error) {
	if r.Config == nil {
		return nil, nil, nil
	}
	for _, name := range r.Config.After {
		v, _, err := o.readOutline(ctx, name, readsAtOnce)
		if err != nil {
			return nil, nil, failf(host.CodeOf(err), err, "job %s: read job %s, after which it runs", r.Name, name)
		}
		views = append(views, v)
		if why := v.Hinders(name); !why.None() {
			wrong = append(wrong, why)
		}
	}
	return views, wrong, nil
}

// follow puts the instants of the jobs before this one into an explanation.
func (f *facts) follow(e *Explanation, views []*protocol.View) {
	newest := int64(0)
	for _, v := range views {
		for _, end := range v.Endings() {
			newest = max(newest, end.Instant)
		}
	}
	if e.At.IsZero() {
		e.At = moment(newest)
	}
	for _, t := range protocol.GoodIn(views) {
		switch at := moment(t); {
		case at.Equal(e.At):
			e.Due = true
		case at.Before(e.At):
			e.Before = at
		case e.After.IsZero():
			e.After = at
		}
	}
	if e.Due {
		return
	}
	for k, v := range views {
		if why := awaited(f.job.Config.After[k], v, e.At); !why.None() {
			f.awaits = why
			return
		}
	}
}

// awaited is why a job has not ended well at an instant; none if it has.
func awaited(name string, v *protocol.View, at time.Time) reason.Reason {
	for _, end := range v.Endings() {
		switch {
		case end.Instant != at.UnixMilli():
		case end.Good():
			return reason.Reason{}
		case !end.Open:
			return protocol.NotWell(name, end)
		}
	}
	return reason.Of(reason.AfterAwaited, strconv.Quote(name))
}
