package operator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// predecessors reads the jobs after which the reported job runs. It returns their views, in the order of
// Config.After, and why they keep the job from running.
func (o *Operator) predecessors(ctx context.Context, r *JobReport) (views []*protocol.View, wrong []reason.Reason, err error) {
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
	why, err := o.circle(ctx, r.Name, r.Config.After)
	if !why.None() {
		wrong = append(wrong, why)
	}
	return views, wrong, err
}

// maxCircle is the limit of jobs that are searched for a circle. A larger circle stays unnoticed.
const maxCircle = 1000

// circle is why a job that runs after these jobs would run after itself, by their definitions
// in the registry; none if it would not.
func (o *Operator) circle(ctx context.Context, name string, after []string) (reason.Reason, error) {
	next := map[string]string{} // by job: one that runs after it, on the way back from name
	// reach notes that job runs after these jobs, and returns those that were not known.
	reach := func(job string, after []string) (found []string) {
		for _, before := range after {
			if _, known := next[before]; !known {
				next[before] = job
				found = append(found, before)
			}
		}
		return found
	}
	for level := reach(name, after); len(level) > 0 && len(next) <= maxCircle; {
		if _, back := next[name]; back {
			return reason.Of(reason.AfterCircle, circleText(next, name)), nil
		}
		jobs, err := o.outlines(ctx, level, false)
		if err != nil {
			return reason.Reason{}, err
		}
		level = nil
		for _, of := range jobs {
			if c := of.report.Config; c != nil {
				level = append(level, reach(c.Name, c.After)...)
			}
		}
	}
	return reason.Reason{}, nil
}

// refuseCircle refuses a change that makes a job run after itself. Two concurrent requests
// that close a circle together may both pass; then the reports on their jobs show it.
func (o *Operator) refuseCircle(ctx context.Context, what, name string, after []string) error {
	why, err := o.circle(ctx, name, after)
	switch {
	case err != nil:
		return err
	case !why.None():
		return failf(host.Refused, nil, "%s job %s: %s", what, name, why)
	}
	return nil
}

// circleText lists the jobs of a circle that name is in, as "a after b after a". next is that of circle.
func circleText(next map[string]string, name string) string {
	all := []string{name}
	for at := next[name]; at != name; at = next[at] {
		all = append(all, at)
	}
	all = append(all, name)
	slices.Reverse(all)
	return fmt.Sprintf("%.512s", strings.Join(all, " after "))
}

// planAfter adds the instants of a job that runs after others to an explanation. The views are those of
// predecessors. If they have not all ended well at e.At, f.awaits gets the first reason.
func (f *facts) planAfter(e *Explanation, views []*protocol.View) {
	newest := int64(0) // instant of which a run has ended
	for _, v := range views {
		for _, end := range v.Endings() {
			newest = max(newest, end.Instant)
		}
	}
	if e.At.IsZero() { // the question names no instant
		e.At = moment(newest)
	}
	for _, t := range protocol.GoodIn(views) { // ascending
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

// awaited is why the predecessor with a name has not ended well at an instant; none if it has.
func awaited(name string, v *protocol.View, at time.Time) reason.Reason {
	for _, end := range v.Endings() {
		switch {
		case end.Instant != at.UnixMilli():
		case end.Good():
			return reason.Reason{}
		case !end.Open: // no item can end well any more
			return protocol.NotWell(name, end)
		}
	}
	return reason.Of(reason.AfterAwaited, strconv.Quote(name))
}
