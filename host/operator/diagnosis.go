package operator

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Diagnosis is what a server with some options would find in the registry.
type Diagnosis struct {
	// Breaks are faults of the cluster's state.
	Breaks []reason.Reason `json:"breaks"`
	Jobs   []Checkup       `json:"jobs"`
	Absent string          `json:"absent,omitempty"` // that the namespace is missing; the first server creates it
	// Others has what other servers find differently, by their own configurations and histories. Unread
	// names servers that did not answer.
	Others []DiagnosedElsewhere `json:"other_servers,omitempty"`
	Unread []string             `json:"unread,omitempty"`
}

// DiagnosedElsewhere is what another server finds.
type DiagnosedElsewhere struct {
	Server string          `json:"server"`
	Breaks []reason.Reason `json:"breaks"`
	Jobs   []Checkup       `json:"jobs"`
}

// Add adds what another server finds and this one does not, if there is anything.
func (d *Diagnosis) Add(server string, there *Diagnosis) {
	one := DiagnosedElsewhere{Server: server, Breaks: []reason.Reason{}, Jobs: []Checkup{}}
	if !equalReasons(d.Breaks, there.Breaks) {
		one.Breaks = append(one.Breaks, there.Breaks...)
	}
	here := map[string]*Checkup{}
	for i := range d.Jobs {
		here[d.Jobs[i].Job] = &d.Jobs[i]
	}
	for i := range there.Jobs {
		c := &there.Jobs[i]
		if own := here[c.Job]; own == nil || !equalReasons(own.Breaks, c.Breaks) || !equalReasons(own.Needs, c.Needs) || !equalReasons(own.Notes, c.Notes) {
			one.Jobs = append(one.Jobs, *c)
		}
	}
	if len(one.Breaks)+len(one.Jobs) > 0 {
		d.Others = append(d.Others, one)
	}
}

func equalReasons(a, b []reason.Reason) bool {
	return slices.EqualFunc(a, b, func(a, b reason.Reason) bool { return a.Code == b.Code && a.String() == b.String() })
}

// Doctor examines the state of the cluster and the jobs of the namespace, or those with the
// given names, for a server with the options as. It compares them with the history that
// Recall set, and writes nothing. Unless a job is named, what would break it is only a note
// if no server of ours is meant to run it: others may share the namespace.
func (o *Operator) Doctor(ctx context.Context, as host.Options, names ...string) (*Diagnosis, error) {
	d := &Diagnosis{Breaks: []reason.Reason{}, Jobs: []Checkup{}}
	all, err := o.Checkups(ctx, as, names...)
	if err != nil {
		return nil, err
	}
	absent := o.Namespace(ctx) // says that the namespace is missing; nil: it exists
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c Checkup) bool { return c.Job == name }) {
			if absent != nil {
				return nil, absent
			}
			return nil, failf(host.NotFound, nil, "there is no job %q in namespace %s", name, o.namespace)
		}
	}
	if absent != nil {
		d.Absent = absent.Error()
	}
	for i := range all {
		if c := &all[i]; len(names) == 0 && !c.Named && !c.Ours {
			c.Notes, c.Breaks = append(c.Breaks, c.Notes...), nil
		}
		if err := o.compareTokens(ctx, &all[i]); err != nil {
			return nil, err
		}
	}
	d.Jobs = append(d.Jobs, all...)
	open, err := o.openNodes(ctx)
	if len(open) > 0 {
		d.Breaks = append(d.Breaks, reason.Of(reason.StateOpen, strings.Join(open, ", "), o.tree.Root()))
	}
	return d, err
}

// openNodes returns the nodes of the cluster's state that every user of the registry may read
// or change.
func (o *Operator) openNodes(ctx context.Context) (open []string, err error) {
	s := o.session
	if l, ok := s.(*link); ok { // a link hides what else its session implements
		s = l.Session
	}
	guarded, ok := s.(registry.Guarded)
	if !ok {
		return nil, nil
	}
	for _, node := range o.tree.Named() {
		all, err := guarded.OpenToAll(ctx, node)
		if err != nil {
			return nil, readError(err, "read who may change %s", node)
		}
		if all {
			open = append(open, node)
		}
	}
	return open, nil
}

// compareTokens notes that a job's fencing tokens would go backwards: the history has rows with later tokens
// than the registry has reached, as after the registry was emptied or replaced.
func (o *Operator) compareTokens(ctx context.Context, c *Checkup) error {
	if o.history == nil || c.Newest < 0 {
		return nil
	}
	rows, _, err := o.history(ctx, c.Job, nil, time.Now().Add(farAhead))
	if err != nil {
		return failf(host.Unavailable, err, "compare job %s with the history", c.Job)
	}
	newest := int64(0)
	for _, row := range rows {
		newest = max(newest, row.Fence)
	}
	if newest > c.Newest {
		c.note(reason.TokensBackwards, strconv.FormatInt(newest, 10), strconv.FormatInt(c.Newest, 10))
	}
	return nil
}
