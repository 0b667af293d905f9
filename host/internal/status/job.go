package status

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Job is a job at the moment of a view.
type Job struct {
	State      string
	Leader     protocol.ID // "" if there is no leader
	Paused     bool
	Resharding bool // a reshard is pending
	Members    []Member
	Leaving    []Member        // ours that were shut down, and still have open runs
	Running    int             // items with an open run
	Faults     []reason.Reason // problems that the nodes show
}

// The states of a job, of which the first that applies counts.
const (
	Unreadable = "unreadable" // its configuration cannot be read
	Down       = "down"       // no server runs it
	Paused     = "paused"
	Disabled   = "disabled" // an operator disabled every server, or the item
	Running    = "running"
	Resharding = "resharding"
	Idle       = "idle"
	// States of items only.
	Pending    = "pending" // a pending run waits for a member
	Unassigned = "unassigned"
)

// Member is a member of a job, ours or foreign.
type Member struct {
	ID       protocol.ID
	Foreign  bool // of ElasticJob
	Labels   map[string]string
	Disabled bool // an operator disabled its server
	Asked    bool // it has not acted on a trigger yet
	Items    int  // items that it owns
	Running  int  // open runs
}

// Of returns the state of the job in a view at a moment.
func Of(v *protocol.View, now int64) Job {
	j := Job{Leader: v.Leader, Paused: v.PausedAt(now), Resharding: v.Necessary || v.Processing}
	for _, in := range v.Instances {
		j.Members = append(j.Members, memberOf(v, in))
	}
	for _, m := range v.Members {
		if x := memberOf(v, protocol.Instance{ID: m.ID}); x.Running > 0 && !present(v, m.ID) {
			j.Leaving = append(j.Leaving, x)
		}
	}
	for i := range v.Runs {
		j.Running += len(v.Runs[i].Open)
	}
	j.State, j.Faults = j.state(v), j.faults(v, now)
	return j
}

// memberOf returns the member of an instance: ours if it is among the view's members.
func memberOf(v *protocol.View, in protocol.Instance) Member {
	m := Member{ID: in.ID, Foreign: true, Disabled: v.ServerDisabled(in.ID), Asked: in.Request != 0}
	for _, ours := range v.Members {
		if ours.ID == in.ID {
			m.Foreign, m.Labels = false, ours.Labels
		}
	}
	for _, owner := range v.Assignment.Owners {
		if owner == in.ID {
			m.Items++
		}
	}
	if !v.Assignment.Exists { // only foreign members run the job
		for i := range v.Items {
			if v.Items[i].Owner == in.ID {
				m.Items++
			}
		}
	}
	for i := range v.Runs {
		if r := &v.Runs[i]; r.ID == in.ID {
			m.Running = len(r.Open)
		}
	}
	return m
}

// state is the job's state, of which the first that applies counts.
func (j *Job) state(v *protocol.View) string {
	switch {
	case v.Config == nil || v.ConfigFault != "":
		return Unreadable
	case len(j.Members)+len(j.Leaving) == 0:
		return Down
	case j.Paused:
		return Paused
	case j.disabled():
		return Disabled
	case j.Running > 0:
		return Running
	case j.Resharding:
		return Resharding
	}
	return Idle
}

// disabled reports whether an operator disabled every server that runs the job. Disabled
// servers do not lead.
func (j *Job) disabled() bool {
	return len(j.Members) > 0 && !slices.ContainsFunc(j.Members, func(m Member) bool { return !m.Disabled })
}

// overdue is the time in ms after which a leader of ours says that a reshard is overdue.
const overdue = 30_000

// faults are the view's, and problems of the job as a whole at the moment now.
func (j *Job) faults(v *protocol.View, now int64) []reason.Reason {
	faults := slices.Clone(v.Faults)
	add := func(c reason.Code, args ...string) { faults = append(faults, reason.Of(c, args...)) }
	if v.Config == nil && v.ConfigFault == "" {
		add(reason.ConfigGone)
	}
	switch {
	case len(j.Members)+len(j.Leaving) == 0:
		add(reason.NoServer)
	case v.Leader == "" && len(j.Members) > 0 && !j.disabled():
		add(reason.NobodyLeads)
	case v.Necessary && member(v, v.Leader) && v.NecessaryAt != 0 && now-v.NecessaryAt > overdue:
		add(reason.ReshardOverdue, strconv.FormatInt((now-v.NecessaryAt)/1000, 10))
	}
	for i := range v.Runs {
		r := &v.Runs[i]
		owes := len(r.Open)+len(r.Retries)+len(r.Triggers) > 0
		if alone := len(j.Members) == 0; (owes || !alone) && !present(v, r.ID) && !member(v, r.ID) { // the member is dead
			add(reason.NotTakenOver, string(r.ID)) // without members, a record with nothing to take is normal: the last member leaves one
		}
	}
	return faults
}
