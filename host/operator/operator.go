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
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Operator observes and controls the jobs of a namespace without being a member. It
// writes requests into the registry, and the members act on them. Create it with Open.
// Its methods must not be called concurrently.
type Operator struct {
	namespace string
	session   registry.Session
	end       func() error // closes session, or leaves a shared one
	inbox     *session.Inbox
	files     map[string]*job.Config // set by Compare, by name
	rows      trace.Sink             // set by Record; nil: none
	history   History                // set by Recall; nil: none
	logs      *RunLogs               // set by ReadLogs
	tree      clustertree.Tree
	author    Author                 // set by As
	treeMade  bool                   // the nodes of tree exist
	unless    []registry.Op          // checks that each request to a job carries, for drainJoined
	dry       bool                   // set by DryRun: nothing is written
	deeds     []Deed                 // what a dry run would have written
	onlyIf    func(*JobReport) error // set by OnlyIf, until the first write; nil: always
	unheld    Unheld                 // set by WarnOf; nil: no warnings
	roster    *roster                // cache of a shared session; nil: each list reads all jobs
}

const (
	// readsAtOnce is the limit of concurrent reads, over all jobs.
	readsAtOnce = 32
	// askTries is the limit of attempts to write a request when others change the job
	// at the same time.
	askTries = 20
)

// Open opens a session on the registry. The caller closes the Operator first, then the
// registry.
func Open(ctx context.Context, r registry.Registry, namespace string) (*Operator, error) {
	o := newOperator(namespace)
	s, err := r.Open(ctx, o.inbox.Put)
	if err != nil {
		return nil, failf(host.Unavailable, err, "reach the registry")
	}
	o.session, o.end = s, s.Close
	return o, nil
}

// newOperator returns an Operator without a session.
func newOperator(namespace string) *Operator {
	return &Operator{namespace: namespace, inbox: session.NewInbox(), tree: clustertree.Of(namespace)}
}

// Close ends the session, unless a SharedSession owns it.
func (o *Operator) Close() error { return o.end() }

// Trigger requests that every member of the job runs its items now. It returns when the
// request is written.
func (o *Operator) Trigger(ctx context.Context, name string) error {
	return o.ask(ctx, verbTrigger, name, protocol.AskTrigger{})
}

// Resume ends a pause, even an expired one.
func (o *Operator) Resume(ctx context.Context, name string) error {
	return o.ask(ctx, verb{"resume", "job resume"}, name, protocol.AskPause{}) // no pause in place of the present one
}

// SetItem disables an item of the job, or enables it again. A disabled item does not
// begin at its instants.
func (o *Operator) SetItem(ctx context.Context, name string, item int, disabled bool) error {
	return o.ask(ctx, verb{verbOf(disabled) + " an item of", "job " + verbOf(disabled)}, name, protocol.AskItem{Item: item, Disabled: disabled})
}

// SetServer disables the servers at an address for the job, or enables them again. A
// disabled server owns no items of the job.
func (o *Operator) SetServer(ctx context.Context, name, ip string, disabled bool) error {
	if err := o.notDrained(ctx, ip, disabled); err != nil {
		return err
	}
	return o.setServer(ctx, name, ip, disabled)
}

// setServer is SetServer even at a drained address. What it disables stays so after the drain.
func (o *Operator) setServer(ctx context.Context, name, ip string, disabled bool) error {
	var also func(context.Context) ([]registry.Op, error)
	if disabled {
		also = func(ctx context.Context) ([]registry.Op, error) { return o.keepDisabled(ctx, name, ip) }
	}
	return o.askServer(ctx, name, ip, disabled, also)
}

// askServer writes a request about the servers at an address, with the operations of also, if
// that is not nil.
func (o *Operator) askServer(ctx context.Context, name, ip string, disabled bool, also func(context.Context) ([]registry.Op, error)) error {
	what := verb{verbOf(disabled) + " a server of", "job " + verbOf(disabled)}
	a := protocol.AskServer{IP: ip, Disabled: disabled}
	return o.askBy(ctx, request{verb: what, job: name, about: a, also: also, wish: func(v *protocol.View) (protocol.Ask, deed, error) {
		if !slices.ContainsFunc(v.Servers, func(s protocol.Server) bool { return s.IP == ip }) {
			return nil, deed{}, failf(host.NotFound, nil, "%s job %s: there is no such server: %s", what.words, name, ip)
		}
		return a, deedOf(a), nil
	}})
}

// SetJob disables or enables every server that the job knows. A drained server is enabled by the
// end of the drain. A server that joins later follows its own configuration.
func (o *Operator) SetJob(ctx context.Context, name string, disabled bool) error {
	v, _, _, err := o.editableView(ctx, verbOf(disabled), name, o.outlined)
	if err != nil {
		return err
	}
	if len(v.Servers) == 0 {
		return failf(host.Refused, nil, "%s job %s: no server is known to it", verbOf(disabled), name)
	}
	var drains clustertree.Drains // they keep nobody from disabling a server
	if !disabled {
		if drains, _, err = o.readDrains(ctx, "enable job "+name); err != nil {
			return err
		}
	}
	var refused error
	set := 0
	for _, s := range v.Servers {
		if refused = refuseDrained(drains, s.IP); refused != nil { // leave it disabled, and enable the others
			left, err := o.enableAfterDrain(ctx, name, s.IP)
			if err != nil {
				return err
			}
			if !left {
				continue
			}
		} else if err := o.setServer(ctx, name, s.IP, disabled); err != nil {
			return err
		}
		set++
	}
	if set == 0 {
		return refused
	}
	return nil
}

// SetServers calls SetServer for every job that knows the address. It returns the jobs
// that it changed, and those that it could not read and left unchanged.
func (o *Operator) SetServers(ctx context.Context, ip string, disabled bool) (set, unread []string, err error) {
	if err := o.notDrained(ctx, ip, disabled); err != nil {
		return nil, nil, err
	}
	names, unread, err := o.jobsAt(ctx, ip)
	if err == nil && disabled {
		err = o.keepAllDisabled(ctx, ip, names)
	}
	if err != nil {
		return nil, unread, err
	}
	if set, err = switchServers(ctx, names, ip, disabled, o.setServer); err != nil {
		return set, unread, err
	}
	if len(set) == 0 {
		err = failf(host.NotFound, nil, "no job knows a server %s", ip)
	}
	return set, unread, err
}

// verbOf is the verb that makes something disabled, or not.
func verbOf(disabled bool) string {
	if disabled {
		return "disable"
	}
	return "enable"
}

// Reshard requests that the leader assigns all items anew.
func (o *Operator) Reshard(ctx context.Context, name string) error {
	return o.ask(ctx, verb{"reshard", "job reshard"}, name, protocol.AskReshard{})
}

// Which selects members of a job: all, those at one address, or one.
type Which struct {
	All      bool
	IP       string
	Instance job.InstanceID
}

func (w Which) selects(id job.InstanceID) bool {
	return w.All || w.IP != "" && id.IP() == w.IP || w.Instance != "" && id == w.Instance
}

// Shutdown ends the job on the selected members and returns their ids. Their servers keep
// running, and a restarted server runs the job again.
func (o *Operator) Shutdown(ctx context.Context, name string, w Which) ([]job.InstanceID, error) {
	for try := 1; ; try++ {
		gone, again, err := o.shutDown(ctx, name, w)
		if !again || try == askTries {
			return gone, err
		}
	}
}

// shutDown is one try of Shutdown. again reports that nothing was done, because the job has changed
// since OnlyIf checked it.
func (o *Operator) shutDown(ctx context.Context, name string, w Which) (gone []job.InstanceID, again bool, err error) {
	const what = "shut down"
	by := o.outlined
	if o.onlyIf != nil {
		by = o.wholly // outlined would also fail once a run begins or ends
	}
	v, l, unchanged, err := o.editableView(ctx, what, name, by)
	if err != nil {
		return nil, false, err
	}
	if o.onlyIf == nil {
		unchanged = nil // no fence: a member may join or begin a run meanwhile
	} else if err := o.holds(ctx, l, name, v, false); err != nil {
		return nil, false, err
	}
	all := slices.Clone(v.Ghosts) // nodes that no session holds are removed, too
	for _, in := range v.Instances {
		all = append(all, in.ID)
	}
	for _, id := range all {
		if !w.selects(id) {
			continue
		}
		if v.ByAddress && !ours(v, id) && !slices.Contains(v.Ghosts, id) {
			return gone, false, failf(host.Refused, nil, "%s job %s: the member at %s is foreign; in this layout only ElasticJob's own console can end it", what, name, id.IP())
		}
		err := o.commit(ctx, deed{verb: "job shutdown", job: name, detail: "instance=" + string(id)}, append(slices.Clip(unchanged), l.EndInstance(v, id)...)...)
		c, conflict := errors.AsType[*registry.ConflictError](err)
		switch {
		case conflict && c.Index < len(unchanged): // the fence has failed
			return nil, true, askError(what, name, err)
		case conflict: // the member has left meanwhile
		case err != nil:
			return gone, false, askError(what, name, err)
		default:
			gone, unchanged = append(gone, id), nil // this write has changed the job, so the fence would fail
		}
	}
	return gone, false, nil
}

// found returns the layout of the job's tree.
func (o *Operator) found(ctx context.Context, name string) (layout.Layout, error) {
	l, err := layout.Found(o.namespace, name, func(paths []string) ([]registry.Node, error) { return o.readAll(ctx, paths, readsAtOnce) })
	if err != nil {
		return nil, readError(err, "look at job %s", name)
	}
	return l, nil
}

// jobView reads all watched nodes of a job as of one moment.
func (o *Operator) jobView(ctx context.Context, name string) (*protocol.View, layout.Layout, error) {
	l, err := o.found(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	v, err := o.readJob(ctx, l, name)
	return v, l, err
}

// readJob is jobView for a layout that is known already.
func (o *Operator) readJob(ctx context.Context, l layout.Layout, name string) (*protocol.View, error) {
	v, err := o.readView(ctx, l, l.Watched(), true)
	if err != nil {
		return nil, readError(err, "look at job %s", name)
	}
	if !v.Exists || !isJob(v) {
		return nil, o.noJob(ctx, name)
	}
	return v, nil
}

// isJob reports whether a view shows a job: it has a configuration or, if that was
// removed, an instance or a record.
func isJob(v *protocol.View) bool {
	return v.Config != nil || v.ConfigFault != "" || len(v.Instances)+len(v.Runs) > 0
}

// readsEach is the number of concurrent reads per job when that many jobs are read. With
// many jobs it is 1, because a goroutine costs more than a read of the registry inside
// the server.
func readsEach(jobs int) int { return max(1, readsAtOnce/max(1, jobs)) }

// readView reads the named nodes, and the nodes below them that the layout follows. With watch, the
// view is of one moment; without, it may mix values from before and after a change, which is enough
// for a report.
func (o *Operator) readView(ctx context.Context, l layout.Layout, names []string, watch bool) (*protocol.View, error) {
	w := follow.NewWatch(l, names)
	w.Read = func(paths []string) ([]registry.Node, error) { return o.readAll(ctx, paths, readsAtOnce) }
	if watch {
		if err := o.session.Follow(ctx, l.Root()); err != nil {
			return nil, fmt.Errorf("follow %s: %w", l.Root(), err)
		}
		o.inbox.Take() // drops events that are older than the replies to come
		w.Events = o.inbox.Take
	}
	return w.View()
}

// readAll reads nodes, up to atOnce of them concurrently.
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
	return nodes, reads.Wait() //nolint:wrapcheck // its functions return our errors
}

// Names lists the names of the nodes in the namespace, sorted. Each may be a job.
func (o *Operator) Names(ctx context.Context) ([]string, error) {
	n, err := o.session.Read(ctx, layout.JobsIn(o.namespace))
	if err != nil {
		return nil, readError(err, "list the jobs of namespace %s", o.namespace)
	}
	// The cluster state of a nested namespace lies here, too.
	names := slices.DeleteFunc(slices.Clone(n.Children), clustertree.Reserved)
	slices.Sort(names)
	return names, nil
}

// readError is the error of a failed read. The codes Unknown and Internal become
// Unavailable, since a read changes nothing.
func readError(err error, format string, args ...any) error {
	code := host.CodeOf(err)
	if code == host.Unknown || code == host.Internal {
		code = host.Unavailable
	}
	return failf(code, err, format, args...)
}
