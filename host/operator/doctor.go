package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/assign"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Checkup is what a server that wants to run a job would find in the registry.
type Checkup struct {
	Job    string `json:"job"`
	Layout string `json:"layout"` // "1", "2.0", "2.1", "3"; empty: no job's nodes, or no nodes yet
	// Class and Type are ElasticJob's class and type of the job; empty if they cannot
	// be read.
	Class   string          `json:"class"`
	Type    string          `json:"type"`
	Leader  job.InstanceID  `json:"leader"` // "": no leader
	Members []CheckedMember `json:"members"`
	Named   bool            `json:"named"` // the server's own file has the job
	Ours    bool            `json:"ours"`  // the registry has the node of its module, so a server needs no file for it

	// Breaks have to be fixed before a server with these options can run the job beside
	// its members. Needs are missing in the server's configuration. Notes are worth
	// knowing. Each is one line.
	Breaks []reason.Reason `json:"breaks"`
	Needs  []reason.Reason `json:"needs"`
	Notes  []reason.Reason `json:"notes"`
	// Newest is at least the token of the newest run of ours that the registry knows.
	// If the job is missing, it is the revision of the newest change of the list of
	// jobs. -1: it may not be read.
	Newest int64 `json:"newest"`
}

// CheckedMember is a member of a job, or the node of one that is gone.
type CheckedMember struct {
	ID       job.InstanceID `json:"id"` // in layouts 1 and 2.0 the address alone
	Kind     MemberKind     `json:"kind"`
	Disabled bool           `json:"disabled"` // an operator disabled its server
}

// MemberKind is the kind of a CheckedMember.
type MemberKind string

// The kinds of members.
const (
	Ours MemberKind = "wasmjobd"
	Java MemberKind = "java"
	// Ghost: an instance node that no session holds. Members of ElasticJob count it as
	// a member and leave items to it.
	Ghost MemberKind = "ghost"
)

// Checkups examines the jobs of the namespace, or those with the given names, for a
// server with the options as. It writes nothing. The result is sorted by name. A checkup
// may mix values from before and after a change that happens while it is read.
func (o *Operator) Checkups(ctx context.Context, as host.Options, names ...string) ([]Checkup, error) {
	as = as.WithDefaults()
	if len(names) == 0 {
		there, err := o.Names(ctx)
		if err != nil {
			return nil, err
		}
		names = there
		for _, j := range as.Jobs {
			names = append(names, j.Name)
		}
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	found := make([]*Checkup, len(names))
	jobs, within := errgroup.WithContext(ctx)
	jobs.SetLimit(readsAtOnce)
	for i, name := range names {
		jobs.Go(func() error {
			c, err := o.checkup(within, &as, name, readsEach(len(names)))
			switch {
			case errors.Is(err, registry.ErrDenied): // go on, other jobs may be readable
				c = &Checkup{Job: name, Named: fileOf(&as, name) != nil, Newest: -1, Breaks: []reason.Reason{denied(err)}}
			case err != nil:
				return readError(err, "look at job %s", name)
			}
			found[i] = c
			return nil
		})
	}
	if err := jobs.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // its functions return our errors
	}
	var all []Checkup
	for _, c := range found {
		if c != nil {
			all = append(all, *c)
		}
	}
	return all, nil
}

// checkup examines one job; nil if the node is not a job.
func (o *Operator) checkup(ctx context.Context, as *host.Options, name string, atOnce int) (*Checkup, error) {
	v, l, known, err := o.inspect(ctx, name, atOnce)
	if err != nil {
		return nil, err
	}
	form, err := o.form(ctx, l, known)
	if err != nil {
		return nil, err
	}
	file := fileOf(as, name)
	c := &Checkup{Job: name, Layout: form.Layout, Class: form.Class, Leader: shown(v, v.Leader), Named: file != nil, Ours: v.HasModule, Newest: form.Newest}
	c.Members = checkedMembers(v)
	c.noteOlder(v, form)
	switch {
	case v.Config == nil && v.ConfigFault == "" && !form.Used: // the registry has nothing of such a job
		if file == nil {
			return nil, nil
		}
		c.note(reason.NotInRegistry)
		above, err := o.newestAbove(ctx)
		if err != nil {
			return nil, err
		}
		c.Newest = max(c.Newest, above)
	case v.Config == nil && v.ConfigFault == "":
		c.breaks(reason.Of(reason.NoConfig))
	default:
		c.examine(as, file, l, v, form)
		return c, o.examineAfter(ctx, c, l, v)
	}
	return c, nil
}

// examineAfter checks the jobs after which a job runs.
func (o *Operator) examineAfter(ctx context.Context, c *Checkup, l layout.Layout, v *protocol.View) error {
	config, module := l.Defined(v)
	j := definition.JobOf(c.Job, config, module)
	if j == nil {
		return nil
	}
	why, err := o.circle(ctx, c.Job, j.After)
	if !why.None() {
		c.breaks(why)
	}
	return err
}

// inspect reads a job by the layout that its tree has. It also returns the nodes that it has read, by path.
func (o *Operator) inspect(ctx context.Context, name string, atOnce int) (*protocol.View, layout.Layout, map[string]registry.Node, error) {
	l := layout.NewJob(o.namespace, name)
	for {
		w, known := o.watch(ctx, l, layout.Inspected(l), atOnce)
		v, err := w.View()
		if err != nil {
			return nil, nil, nil, err
		}
		found, err := layout.Found(o.namespace, name, fromMemory(known))
		if err != nil || found == l {
			return v, l, known, err
		}
		l = found // read again by that layout
	}
}

// form reads the nodes that differ between layouts. Most of them are in known already.
func (o *Operator) form(ctx context.Context, l layout.Layout, known map[string]registry.Node) (layout.Form, error) {
	return layout.FormOf(l, func(path string) (registry.Node, error) {
		n, ok := known[path]
		if ok {
			return n, nil
		}
		n, err := o.session.Read(ctx, path)
		known[path] = n
		return n, err
	})
}

// newestAbove returns the revision of the newest change of the list of jobs. A job that was removed had no
// later token, since its removal changed the list. If the namespace is missing, the nearest existing node
// above stands for it.
func (o *Operator) newestAbove(ctx context.Context) (int64, error) {
	for at := layout.JobsIn(o.namespace); ; at = at[:max(1, strings.LastIndexByte(at, '/'))] {
		n, err := o.session.Read(ctx, at)
		if err != nil || n.Exists || len(at) == 1 {
			return max(n.Stat.Created, n.Stat.ChildrenChanged), err
		}
	}
}

// fileOf returns the job of that name in the server's own file, or nil.
func fileOf(o *host.Options, name string) *job.Config {
	i := slices.IndexFunc(o.Jobs, func(j job.Config) bool { return j.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Jobs[i]
}

// maxOlder is how many servers of a job of layout 1 or 2.0 are named.
const maxOlder = 20

// noteOlder notes the servers of a job of layout 1 or 2.0 and their states.
func (c *Checkup) noteOlder(v *protocol.View, form layout.Form) {
	if form.Older == nil && form.Unreadable == nil {
		return
	}
	if form.Unreadable != nil && len(v.Faults) == 0 { // else the faults of the view say so
		c.breaks(reason.Of(reason.NodeUnreadable, form.Unreadable.Error()))
	}
	var servers []string
	for _, m := range form.Older[:min(len(form.Older), maxOlder)] {
		servers = append(servers, m.String())
	}
	if more := len(form.Older) - maxOlder; more > 0 {
		servers = append(servers, fmt.Sprintf("and %d more", more))
	}
	if len(servers) > 0 {
		c.Notes = append(c.Notes, reason.Of(reason.OlderServers, strings.Join(servers, "; ")))
	}
}

// noteLatch notes what keeps a job with members from electing a leader: the holder of the
// latch's first place.
func (c *Checkup) noteLatch(v *protocol.View, form layout.Form) {
	if v.Leader != "" || len(v.Instances) == 0 {
		return
	}
	if form.First == "" {
		c.Notes = append(c.Notes, reason.Of(reason.LatchEmpty))
		return
	}
	if form.FirstOwner == 0 {
		return // already reported as LatchUnheld
	}
	session := fmt.Sprintf("%#x", form.FirstOwner)
	for _, in := range v.Instances {
		if in.Owner == form.FirstOwner {
			c.Notes = append(c.Notes, reason.Of(reason.LatchOfMember, form.First, session, string(in.ID)))
			return
		}
	}
	c.Notes = append(c.Notes, reason.Of(reason.LatchOfOther, form.First, session))
}

// examine checks a job of a layout that this release supports.
func (c *Checkup) examine(as *host.Options, file *job.Config, l layout.Layout, v *protocol.View, form layout.Form) {
	foreign := v.Shared()
	c.breaks(v.Faults...)
	c.reportUnheld(l.UnheldMarks(v), foreign)
	for _, place := range form.Unheld {
		c.breaks(reason.Of(reason.LatchUnheld, place))
	}
	c.noteLatch(v, form)
	config, module := l.Defined(v)
	if config == nil {
		return // the faults of the view say why
	}
	settings := config.Facts()
	c.Class, c.Type = settings.Class, settings.Type
	facts, joinable := layout.AdmissionFacts(l, file, config, module, foreign)
	facts.Knows = assign.Known(as.Strategies)
	switch {
	case joinable:
		facts.Unable = as.Unable(facts.Job, file)
	case settings.HTTP || settings.Static: // no setting in a file lets a server run it
	default: // the server needs the job in its file; check the rest as if the file had it
		j := config.Apply(job.Config{Name: c.Job, Class: settings.Class, Kind: settings.Kind, TimeZone: "UTC"})
		facts.Job, facts.Unable = j, admission.Invalid(schedule.Check(j, time.Now()))
		c.Needs = append(c.Needs, reason.Of(reason.NotInConfiguration, c.Job, strconv.Quote(settings.Layout), fmt.Sprintf("%.200q", c.Class), strconv.Quote(string(j.Kind))))
	}
	if file != nil {
		c.noteDifferences(as, l, *file, config, module)
	}
	if why := scheduleOver(facts.Job); !why.None() {
		c.Notes = append(c.Notes, why)
	}
	verdict := admission.Decide(&facts)
	c.breaks(verdict.Blockers...)
	if file == nil && joinable && len(v.Members) == 0 {
		c.breaks(moduleNowhere(as, module)...)
	}
	if c.Notes = append(c.Notes, verdict.OnlyAlone...); len(verdict.OnlyAlone) > 0 { // a foreign server may come back
		c.noteServersDown(v)
	}
	c.Notes = append(c.Notes, verdict.Warnings...)
	if foreign && !settings.ByAddress {
		c.noteForeign(as, settings.Failover, form)
	}
}

// moduleNowhere returns a reason if a job that no server runs has a module that a server with these
// options does not have either.
func moduleNowhere(as *host.Options, module *definition.Module) []reason.Reason {
	code := module.Wanted()
	if as.DataDir == "" || code == nil || code.Digest == "" || host.HasModule(as.DataDir, code.Digest) {
		return nil
	}
	return []reason.Reason{reason.Of(reason.ModuleNowhere, code.Digest)}
}

// noteForeign notes what differs in a job shared with foreign members. failover is the job's setting.
func (c *Checkup) noteForeign(as *host.Options, failover bool, form layout.Form) {
	if form.Guarantee {
		c.note(reason.ListenerOnce)
	}
	if failover {
		c.note(reason.FailoverTwice)
		c.noteAddressPrefix(as.Instance.IP())
	}
}

// noteServersDown notes the servers of a job that are down. The registry does not show whether they
// were foreign.
func (c *Checkup) noteServersDown(v *protocol.View) {
	var down []string
	for _, s := range v.Servers {
		if !slices.ContainsFunc(v.Instances, func(in protocol.Instance) bool { return in.ID.IP() == s.IP }) {
			down = append(down, s.IP)
		}
	}
	if len(down) > 0 {
		c.note(reason.ServersAway, strings.Join(down, ", "))
	}
}

// noteDifferences notes where the server's own file and the registry differ. A setting that the
// file changes differs only until a server has read the file, or if the registry refuses it.
func (c *Checkup) noteDifferences(as *host.Options, l layout.Layout, file job.Config, config definition.Config, module *definition.Module) {
	merged, err := definition.Merge(filed(as, l, file), config, module)
	c.breaks(admission.Invalid(err)...)
	if len(merged.Changed) > 0 {
		c.note(reason.FileAhead, strings.Join(merged.Changed, ", "))
	}
	for _, d := range merged.Disputed {
		if d.Key != "jobClass" { // admission has a reason for the class
			c.note(reason.RegistryFollowed, d.String())
		}
	}
}

// breaks adds to Breaks.
func (c *Checkup) breaks(all ...reason.Reason) { c.Breaks = append(c.Breaks, all...) }

// note adds to Notes.
func (c *Checkup) note(code reason.Code, args ...string) {
	c.Notes = append(c.Notes, reason.Of(code, args...))
}

// maxUnheld is the limit of marks that are listed.
const maxUnheld = 5

// reportUnheld reports marks whose sessions are gone. A leader of ours removes them. Beside
// foreign members the reclaimer does, after they had time to; without a reclaimer, they stay.
func (c *Checkup) reportUnheld(paths []string, foreign bool) {
	to, code := &c.Notes, reason.MarkUnheld
	if foreign {
		to, code = &c.Breaks, reason.MarkUnheldWithForeign
	}
	for _, path := range paths[:min(len(paths), maxUnheld)] {
		*to = append(*to, reason.Of(code, path))
	}
	if n := len(paths) - maxUnheld; n > 0 {
		*to = append(*to, reason.Of(reason.MoreMarksUnheld, strconv.Itoa(n)))
	}
}

// noteAddressPrefix notes addresses that members of ElasticJob 2.1 confuse: they only check
// whether a member's id begins with the address.
func (c *Checkup) noteAddressPrefix(ip string) {
	for _, m := range c.Members {
		if other := m.ID.IP(); other != ip && (strings.HasPrefix(other, ip) || strings.HasPrefix(ip, other)) {
			c.note(reason.AddressPrefix, ip, other)
			return
		}
	}
}
