package shadow

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// tick tells what would begin at the instants that have come.
func (s *shade) tick(ctx context.Context) {
	s.mu.Lock()
	due := s.due
	s.due = nil
	s.mu.Unlock()
	if s.job == nil || len(due) == 0 {
		return
	}
	var present []job.InstanceID
	for _, in := range s.view.Instances {
		if !s.view.ServerDisabled(in.ID) {
			present = append(present, in.ID)
		}
	}
	s.compare(ctx, present)
	with := slices.Insert(slices.Clone(present), 0, s.o.Instance)
	slices.SortFunc(with, func(a, b job.InstanceID) int { return strings.Compare(string(b), string(a)) })
	owners, err := s.owners(ctx, with)
	params, paramErr := job.ParseItemParams(s.job.ItemParams)
	if err = errors.Join(err, paramErr); err != nil && ctx.Err() == nil {
		s.o.Log.Warn("the items of the job are not dealt out as they should be", "job", s.file.Name, "error", err)
	}
	for _, at := range due {
		s.share = nil
		for i, owner := range owners {
			if owner != s.o.Instance || i < len(s.view.Items) && s.view.Items[i].Disabled {
				continue
			}
			e := host.Event{
				Kind: Would, At: time.Now(), Config: *s.job, Item: i, Parameter: params[i], Scheduled: time.UnixMilli(at),
				Instance: s.o.Instance, Cause: trace.Schedule, Attempt: 1,
			}
			if i < len(s.view.Items) {
				e.Reason = reason.Text(string(s.view.Items[i].Owner))
			}
			s.share = append(s.share, e)
			s.o.Observe(e)
		}
	}
}

// match tells which of the items that would run here were seen to run. One that
// was seen when an instant had come of which nothing is told yet waits for that,
// and so does one that was seen shortly before: clocks differ.
func (s *shade) match() {
	next := s.clock.Next()
	s.mu.Lock()
	untold := len(s.due) > 0
	s.mu.Unlock()
	if untold {
		return // the loop has been woken
	}
	from := next.Add(-s.ahead(next))
	early := slices.IndexFunc(s.seen, func(x sight) bool { return !next.IsZero() && !x.at.Before(from) })
	if early < 0 {
		early = len(s.seen)
	}
	for _, x := range s.seen[:early] {
		for _, e := range s.share {
			if e.Item == x.item {
				e.Kind, e.At, e.Instance = Began, x.at, job.InstanceID(e.Reason.String())
				s.o.Observe(e)
			}
		}
	}
	s.seen = slices.Delete(s.seen, 0, early)
}

// maxAhead bounds how far the clocks of members are taken to be ahead.
const maxAhead = time.Second

// ahead is how long before an instant an item is taken to begin for it.
func (s *shade) ahead(at time.Time) time.Duration {
	if s.job == nil || at.IsZero() {
		return 0
	}
	c, err := s.clock.Compile(s.job.Cron)
	if err != nil {
		return 0 // the clock goes by it, so it is none that fails
	}
	after := c.Next(at)
	if after.IsZero() {
		return maxAhead
	}
	return min(maxAhead, after.Sub(at)/10)
}

// owners says who would own each item among members.
func (s *shade) owners(ctx context.Context, members []job.InstanceID) ([]job.InstanceID, error) {
	r := protocol.AssignRequest{
		Strategy: s.view.Config.Strategy, Instances: members, Labels: make([]map[string]string, len(members)),
		Total: s.view.Config.Total, Previous: make([][]int, len(members)),
	}
	j := *s.job
	j.StrategyModule = ""
	items, err := s.assigner.Assign(ctx, j, r)
	owners := make([]job.InstanceID, r.Total)
	for k := range items {
		for _, i := range items[k] {
			owners[i] = members[k]
		}
	}
	return owners, err
}

// compare says once if the members have dealt the items out otherwise than a
// leader here would have.
func (s *shade) compare(ctx context.Context, members []job.InstanceID) {
	v := s.view
	if v.Necessary || v.Processing || len(members) == 0 {
		return // they are about to
	}
	owners, err := s.owners(ctx, members)
	odd := false
	for i, owner := range owners {
		odd = odd || i >= len(v.Items) || v.Items[i].Owner != owner
	}
	if err == nil && odd && !s.odd {
		s.o.Log.Warn("the members have dealt the items out otherwise than a leader here would", "job", s.file.Name)
	}
	s.odd = odd && err == nil
}
