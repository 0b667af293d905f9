package runner

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// fire is what the guests of one fire share.
type fire struct {
	items  []int
	taskID string
	params map[int]string
	log    *slog.Logger
}

// is reports whether items is the list of items of this fire. The core passes the same
// slice for each item of a fire, so it is enough to compare where the two slices begin.
func (f *fire) is(items []int) bool {
	n := len(items)
	return n > 0 && len(f.items) == n && &f.items[0] == &items[0]
}

// callOf makes the call of a run.
func (m *member) callOf(e protocol.Run) job.Call {
	c := *m.effective.job
	f := m.fireOf(e.Items)
	instant, _ := e.Entry.RunsFor()
	if e.Entry.Param != "" { // an operator gave it to this trigger
		c.Param = e.Entry.Param
	}
	call := job.Call{
		Config: c, Instance: m.loop.State().Self(), TaskID: f.taskID, Total: c.Shards, Item: e.Entry.Item,
		Items: f.items, Params: f.params,
		RunID:   c.Name + "/" + strconv.Itoa(e.Entry.Item) + "/" + e.Entry.Run(),
		Attempt: e.Entry.Attempt, Scheduled: time.UnixMilli(instant), Fence: e.Fence,
		Failover: e.Entry.Cause == protocol.Failover, Misfire: e.Entry.Cause == protocol.Misfired,
		Log: f.log,
	}
	if c.Command != "" { // its process must end by itself if this one cannot end it in time
		call.Lease = lease{m.inbox, m.session}
	}
	if c.Allow.State {
		call.State = newItemState(m, e.Entry.Item)
	}
	call.ItemParam, call.HasItemParam = m.params()[e.Entry.Item]
	return call
}

// fireOf returns the data that all items of a fire share. It keeps that of the last fire,
// whose guests are started one after the other.
func (m *member) fireOf(items []int) fire {
	if m.guests.fire.is(items) {
		return m.guests.fire
	}
	f := fire{items: items, taskID: m.taskID(m.Config.Name, items), params: map[int]string{}, log: m.guestLog()}
	params := m.params()
	for _, i := range items {
		if p, ok := params[i]; ok {
			f.params[i] = p
		}
	}
	m.guests.fire = f
	return f
}

// taskID returns the task id of this member's share of a fire, as ElasticJob spells it; ""
// if it cannot be spelled.
func (m *member) taskID(name string, items []int) string {
	id, err := job.NewTaskID(name, items, m.loop.State().Self())
	if err != nil {
		return ""
	}
	return id.String()
}

// stopQuery returns the function by which a guest asks whether to stop. For a streaming
// job that function also returns reasons to fetch no further batch; a guest that goes on
// despite such a reason is not ended.
func (m *member) stopQuery(g *guest) func() job.StopReason {
	return func() job.StopReason {
		stop := g.stopReason()
		if stop == job.Continue && g.call.Config.Kind == job.Dataflow && g.call.Config.Streaming {
			return m.pauseReason(g.entry.Item)
		}
		return stop
	}
}

// pauseReason returns why a streaming job should fetch no further batch for an item. The
// items are to be assigned anew (v.Necessary), or that is under way (v.Processing), so the
// item may go to another member; or the item should not run here any more.
func (r *Runner) pauseReason(item int) job.StopReason {
	s := r.snapshot.Load()
	if s == nil {
		return job.Continue
	}
	v := s.view
	switch {
	case v.Necessary || v.Processing, r.leaving.Load(): // the items of a leaving server go to others
		return job.StopResharding
	case v.PausedAt(time.Now().UnixMilli()), !s.effective.job.Streaming, v.ServerDisabled(s.self), item < len(v.Items) && v.Items[item].Disabled:
		return job.StopDisabled
	}
	return job.Continue
}
