package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Operator looks after the jobs of a namespace without being a member of any:
// what it asks for, it writes into the registry, and the members act on it. Make
// it with Open. Its methods are called one after the other.
type Operator struct {
	namespace string
	session   registry.Session
	inbox     *session.Inbox
	files     map[string]*job.Config // of Compare, by name
	rows      trace.Sink             // of Record; nil: none
}

const (
	// readsAtOnce bounds the reads under way, of all jobs that are looked at.
	readsAtOnce = 32
	// askTries is how often a wish is written again when somebody else was
	// quicker.
	askTries = 20
)

// Open opens a session of its own on the registry, which the caller closes
// after the Operator.
func Open(ctx context.Context, r registry.Registry, namespace string) (*Operator, error) {
	o := &Operator{namespace: namespace, inbox: session.NewInbox()}
	s, err := r.Open(ctx, o.inbox.Put)
	if err != nil {
		return nil, failf(host.Unavailable, err, "reach the registry")
	}
	o.session = s
	return o, nil
}

// Close ends the session.
func (o *Operator) Close() error { return o.session.Close() }

// Trigger asks every member of the job to run its items now. It returns when
// the request is written.
func (o *Operator) Trigger(ctx context.Context, name string) error {
	return o.ask(ctx, "trigger", name, protocol.AskTrigger{})
}

// Pause lets the job miss its instants until Resume.
func (o *Operator) Pause(ctx context.Context, name string) error {
	return o.ask(ctx, "pause", name, protocol.AskPause{Paused: true})
}

// Resume ends a pause.
func (o *Operator) Resume(ctx context.Context, name string) error {
	return o.ask(ctx, "resume", name, protocol.AskPause{})
}

// SetItem disables an item of the job, which then misses its instants, or
// enables it again.
func (o *Operator) SetItem(ctx context.Context, name string, item int, disabled bool) error {
	return o.ask(ctx, able(disabled)+" an item of", name, protocol.AskItem{Item: item, Disabled: disabled})
}

// SetServer disables the servers at an address for the job, which then own none
// of its items, or enables them again.
func (o *Operator) SetServer(ctx context.Context, name, ip string, disabled bool) error {
	what := able(disabled) + " a server of"
	return o.askBy(ctx, what, name, func(v *protocol.View) (protocol.Ask, error) {
		if !slices.ContainsFunc(v.Servers, func(s protocol.Server) bool { return s.IP == ip }) {
			return nil, failf(host.NotFound, nil, "%s job %s: there is no such server: %s", what, name, ip)
		}
		return protocol.AskServer{IP: ip, Disabled: disabled}, nil
	})
}

// SetJob disables or enables every server that the job knows; a server that
// comes later is as its own configuration says.
func (o *Operator) SetJob(ctx context.Context, name string, disabled bool) error {
	v, _, err := o.view(ctx, able(disabled), name)
	if err != nil {
		return err
	}
	if len(v.Servers) == 0 {
		return failf(host.Refused, nil, "%s job %s: no server is known to it", able(disabled), name)
	}
	for _, s := range v.Servers {
		if err := o.SetServer(ctx, name, s.IP, disabled); err != nil {
			return err
		}
	}
	return nil
}

// SetServers says the same of the servers at an address to every job that knows
// them, and tells which jobs these are, and which could not be read and are left
// as they are.
func (o *Operator) SetServers(ctx context.Context, ip string, disabled bool) (set, unread []string, err error) {
	jobs, err := o.Jobs(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range jobs {
		j := &jobs[i]
		if j.Config == nil {
			unread = append(unread, j.Name)
			continue
		}
		if !slices.ContainsFunc(j.Servers, func(s ServerState) bool { return s.IP == ip }) {
			continue
		}
		if err := o.SetServer(ctx, j.Name, ip, disabled); err != nil {
			return set, unread, err
		}
		set = append(set, j.Name)
	}
	if len(set) == 0 {
		err = failf(host.NotFound, nil, "no job knows a server %s", ip)
	}
	return set, unread, err
}

func able(disabled bool) string {
	if disabled {
		return "disable"
	}
	return "enable"
}

// Reshard asks the leader to hand out the items anew.
func (o *Operator) Reshard(ctx context.Context, name string) error {
	return o.ask(ctx, "reshard", name, protocol.AskReshard{})
}

// Which names members of a job: all of them, those of one address, or one.
type Which struct {
	All      bool
	IP       string
	Instance job.InstanceID
}

func (w Which) names(id job.InstanceID) bool {
	return w.All || w.IP != "" && id.IP() == w.IP || w.Instance != "" && id == w.Instance
}

// Shutdown ends the job on the members that w names, without ending their
// servers, and tells which they are. A server that starts again runs it again.
func (o *Operator) Shutdown(ctx context.Context, name string, w Which) ([]job.InstanceID, error) {
	const what = "shut down"
	v, l, err := o.view(ctx, what, name)
	if err != nil {
		return nil, err
	}
	var gone []job.InstanceID
	all := slices.Clone(v.Ghosts) // nodes that no session holds can be cleared away like this, too
	for _, in := range v.Instances {
		all = append(all, in.ID)
	}
	for _, id := range all {
		if !w.names(id) {
			continue
		}
		_, err := o.session.Commit(ctx, registry.Op{Kind: registry.Delete, Path: l.Instance(id), Version: registry.AnyVersion})
		switch {
		case errors.Is(err, registry.ErrConflict): // it has gone by itself
		case err != nil:
			return gone, askError(what, name, err)
		default:
			gone = append(gone, id)
		}
	}
	return gone, nil
}

// ask writes what fulfils a wish.
func (o *Operator) ask(ctx context.Context, what, name string, a protocol.Ask) error {
	return o.askBy(ctx, what, name, func(*protocol.View) (protocol.Ask, error) { return a, nil })
}

// askBy writes what fulfils a wish that depends on what there is.
func (o *Operator) askBy(ctx context.Context, what, name string, wish func(*protocol.View) (protocol.Ask, error)) error {
	for try := 1; ; try++ {
		v, l, err := o.view(ctx, what, name)
		if err != nil {
			return err
		}
		a, err := wish(v)
		if err != nil {
			return err
		}
		m, fault := protocol.Wish(v, a)
		switch {
		case fault != "":
			return failf(host.Refused, nil, "%s job %s: %s", what, name, fault)
		case m == nil:
			return nil
		}
		ops := l.Encode(m, v)
		if _, pause := m.(protocol.SetPaused); !v.Dirs.Wasm {
			if pause {
				return failf(host.Refused, nil, "%s job %s: no server of ours has ever run it, and others do not know of pauses", what, name)
			}
			ops = ops[:len(ops)-1] // the node that every transaction of ours sets is not there
		}
		_, err = o.session.Commit(ctx, ops...)
		_, trigger := a.(protocol.AskTrigger)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, registry.ErrConflict) && try < askTries:
		case errors.Is(err, registry.ErrUnknown) && !trigger && try < askTries:
			if err := o.session.Sync(ctx); err != nil {
				return failf(host.Unknown, err, "%s job %s", what, name)
			}
		default:
			return askError(what, name, err)
		}
	}
}

// view is one moment of a job that somebody wants to change.
func (o *Operator) view(ctx context.Context, what, name string) (*protocol.View, layout.Layout, error) {
	v, l, err := o.whole(ctx, name)
	switch {
	case err != nil:
		return nil, l, err
	case v.ConfigFault != "":
		return nil, l, failf(host.Refused, nil, "%s job %s: its configuration cannot be read, so nothing of it is touched: %s", what, name, v.ConfigFault)
	case v.Config == nil:
		return nil, l, failf(host.Refused, nil, "%s job %s: %s", what, name, reason.Of(reason.ConfigGone))
	}
	return v, l, nil
}

// whole reads all of a job, as it was at one moment.
func (o *Operator) whole(ctx context.Context, name string) (*protocol.View, layout.Layout, error) {
	l := layout.NewJob(o.namespace, name)
	v, err := o.gather(ctx, l, l.Watched(), true, readsAtOnce)
	if err != nil {
		return nil, l, unread(err, "look at job %s", name)
	}
	if !v.Dirs.Root || !isJob(v) {
		return nil, l, o.noJob(ctx, name)
	}
	return v, l, nil
}

// isJob: it has a configuration or, where that was removed, members or what they
// left.
func isJob(v *protocol.View) bool {
	return v.Config != nil || v.ConfigFault != "" || len(v.Instances)+len(v.Runs) > 0
}

// readsEach is how many reads of one job are under way where so many jobs are
// looked at: a goroutine for each read costs more than a read of the registry inside.
func readsEach(jobs int) int { return max(1, readsAtOnce/max(1, jobs)) }

// gather reads the named nodes and what is to be known below them, so many at
// once. If it watches, the view is one moment of the tree; if not, it is good enough
// to look at.
func (o *Operator) gather(ctx context.Context, l layout.Layout, names []string, watch bool, atOnce int) (*protocol.View, error) {
	w := follow.NewWatch(l, names)
	w.Read = func(paths []string) ([]registry.Node, error) { return o.readAll(ctx, paths, atOnce) }
	if watch {
		if err := o.session.Follow(ctx, l.Root()); err != nil {
			return nil, fmt.Errorf("follow %s: %w", l.Root(), err)
		}
		o.inbox.Take() // what it tells is older than any reply to come
		w.Events = o.inbox.Take
	}
	return w.View()
}

// readAll reads nodes, so many at once.
func (o *Operator) readAll(ctx context.Context, paths []string, atOnce int) ([]registry.Node, error) {
	if many, ok := o.session.(ManyReader); ok {
		return many.ReadMany(ctx, paths)
	}
	nodes := make([]registry.Node, len(paths))
	if atOnce == 1 {
		for i, path := range paths {
			n, err := o.session.Read(ctx, path)
			if err != nil {
				return nil, err
			}
			nodes[i] = n
		}
		return nodes, nil
	}
	reads, within := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for i, path := range paths {
		reads.Go(func() error {
			n, err := o.session.Read(within, path)
			nodes[i] = n
			return err
		})
	}
	return nodes, reads.Wait() //nolint:wrapcheck // those that were given to it are ours
}

// Names lists what may be jobs of the namespace, ascending.
func (o *Operator) Names(ctx context.Context) ([]string, error) {
	n, err := o.session.Read(ctx, layout.JobsIn(o.namespace))
	if err != nil {
		return nil, unread(err, "list the jobs of namespace %s", o.namespace)
	}
	names := slices.Clone(n.Children)
	slices.Sort(names)
	return names, nil
}

// unread is the error of a question that got no answer.
func unread(err error, format string, args ...any) error {
	code := host.CodeOf(err)
	if code == host.Unknown || code == host.Internal {
		code = host.Unavailable // nothing was to be changed
	}
	return failf(code, err, format, args...)
}
