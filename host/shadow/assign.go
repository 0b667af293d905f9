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

// reportDue reports the items that would begin here at the instants that have come.
func (s *shadowJob) reportDue(ctx context.Context) {
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
	// The strategy gets the members in descending order, this server among them.
	with := slices.Insert(slices.Clone(present), 0, s.o.Instance)
	slices.SortFunc(with, func(a, b job.InstanceID) int { return strings.Compare(string(b), string(a)) })
	owners, err := s.owners(ctx, with)
	params, paramErr := job.ParseItemParams(s.job.ItemParams)
	if err = errors.Join(err, paramErr); err != nil && ctx.Err() == nil {
		s.o.Log.Warn("the items of the job cannot be assigned as configured", "job", s.file.Name, "error", err)
	}
	for _, at := range due {
		s.wouldRun = nil
		for i, owner := range owners {
			if owner != s.o.Instance || i < len(s.view.Items) && s.view.Items[i].Disabled {
				continue
			}
			e := host.Event{
				Kind: Would, At: time.Now(), Config: *s.job, Item: i, Parameter: params[i], Scheduled: time.UnixMilli(at),
				Instance: s.o.Instance, Cause: trace.Schedule, Attempt: 1,
			}
			if i < len(s.view.Items) { // the reason of Would is the item's present owner
				e.Reason = reason.Text(string(s.view.Items[i].Owner))
			}
			s.wouldRun = append(s.wouldRun, e)
			s.o.Observe(e)
		}
	}
}

// matchSightings reports which of the items that would run here at the newest instant began
// elsewhere. Clocks differ, so a sighting shortly before the next instant is kept for that
// instant. So are all sightings after an instant that has not been reported yet.
func (s *shadowJob) matchSightings() {
	next := s.clock.Next()
	s.mu.Lock()
	unreported := len(s.due) > 0
	s.mu.Unlock()
	if unreported {
		return // reportDue comes first; the loop is awake for it
	}
	from := next.Add(-s.ahead(next))
	early := slices.IndexFunc(s.sightings, func(x sighting) bool { return !next.IsZero() && !x.at.Before(from) })
	if early < 0 {
		early = len(s.sightings)
	}
	for _, x := range s.sightings[:early] {
		for _, e := range s.wouldRun {
			if e.Item == x.item { // the reason of Would is the owner
				e.Kind, e.At, e.Instance = Began, x.at, job.InstanceID(e.Reason.String())
				s.o.Observe(e)
			}
		}
	}
	s.sightings = slices.Delete(s.sightings, 0, early)
}

// maxAhead is the largest lead that the clock of another member is assumed to have.
const maxAhead = time.Second

// ahead returns how long before the instant at a run that begins is counted as one for it: a
// tenth of the time to the instant after it, up to maxAhead.
func (s *shadowJob) ahead(at time.Time) time.Duration {
	if s.job == nil || at.IsZero() {
		return 0
	}
	c, err := s.clock.Compile(s.job.Cron)
	if err != nil {
		return 0 // cannot happen: the clock runs on this cron
	}
	after := c.Next(at)
	if after.IsZero() {
		return maxAhead
	}
	return min(maxAhead, after.Sub(at)/10)
}

// owners returns the owner of each item if the job had these members.
func (s *shadowJob) owners(ctx context.Context, members []job.InstanceID) ([]job.InstanceID, error) {
	r := protocol.AssignRequest{
		Strategy: s.view.Config.Strategy, Instances: members, Labels: make([]map[string]string, len(members)),
		Total: s.view.Config.Total, Previous: make([][]int, len(members)),
	}
	j := *s.job
	j.StrategyModule = "" // a shadow runs no code; admit has refused the job if the module counts
	items, err := s.assigner.Assign(ctx, j, r)
	owners := make([]job.InstanceID, r.Total)
	for k := range items {
		for _, i := range items[k] {
			owners[i] = members[k]
		}
	}
	return owners, err
}

// compare warns once if the assignment in the registry is not the one that a leader
// here would make for the same members.
func (s *shadowJob) compare(ctx context.Context, members []job.InstanceID) {
	v := s.view
	if v.Necessary || v.Processing || len(members) == 0 {
		return // a reshard is pending
	}
	owners, err := s.owners(ctx, members)
	differs := false
	for i, owner := range owners {
		differs = differs || i >= len(v.Items) || v.Items[i].Owner != owner
	}
	if err == nil && differs && !s.differs {
		s.o.Log.Warn("the members have assigned the items otherwise than a leader here would", "job", s.file.Name)
	}
	s.differs = differs && err == nil
}
