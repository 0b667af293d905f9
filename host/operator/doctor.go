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
	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Checkup is what the registry says of a job to a server that may come to run
// it.
type Checkup struct {
	Job    string
	Layout string // "1", "2.0", "2.1", "3"; empty: nodes that are none of a job's, or none yet
	// Class and Type are what members of ElasticJob go by; empty where it cannot
	// be read.
	Class, Type string
	Leader      job.InstanceID // "" if nobody leads
	Members     []CheckedMember
	Named       bool // the options have it among their jobs
	Ours        bool // the registry holds its module, so a server needs no file for it

	// Breaks are what has to be mended before a server with these options can run
	// it beside those who do, Needs what its configuration still has to say, and
	// Notes what to know besides. Each is one line.
	Breaks, Needs, Notes []reason.Reason
	// Newest is at least the token of the last run of ours that the registry knows
	// of; where the job is not there, how far the registry had come when the list
	// of jobs changed last. -1: it may not be read.
	Newest int64
}

// CheckedMember is somebody who has a part in a job.
type CheckedMember struct {
	ID       job.InstanceID // in layouts 1 and 2.0 the address alone
	Kind     MemberKind
	Disabled bool // its server, by an operator
}

// MemberKind says what a member is.
type MemberKind string

// The kinds of members.
const (
	Ours MemberKind = "wasmjobd"
	Java MemberKind = "java"
	// Ghost: a node that no session holds. Members of ElasticJob take it for one of
	// theirs and leave items to it.
	Ghost MemberKind = "ghost"
)

// Checkups looks at the jobs of the namespace, or at those with the given names,
// as a server with the options as would find them, and writes nothing. It
// reports by name, ascending; what changes meanwhile may be told half old and
// half new.
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
			case errors.Is(err, registry.ErrDenied): // the others may be read
				c = &Checkup{Job: name, Named: fileOf(&as, name) != nil, Newest: -1, Breaks: []reason.Reason{denied(err)}}
			case err != nil:
				return unread(err, "look at job %s", name)
			}
			found[i] = c
			return nil
		})
	}
	if err := jobs.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // those that were given to it are ours
	}
	var all []Checkup
	for _, c := range found {
		if c != nil {
			all = append(all, *c)
		}
	}
	return all, nil
}

// checkup looks at one job; nil if the node is none of a job's.
func (o *Operator) checkup(ctx context.Context, as *host.Options, name string, atOnce int) (*Checkup, error) {
	l := layout.NewJob(o.namespace, name)
	known := map[string]registry.Node{}
	w := follow.NewWatch(l, layout.Inspected(l))
	w.Read = func(paths []string) ([]registry.Node, error) {
		nodes, err := o.readAll(ctx, paths, atOnce)
		for i, n := range nodes {
			known[paths[i]] = n
		}
		return nodes, err
	}
	v, err := w.View()
	if err != nil {
		return nil, err
	}
	form, err := o.form(ctx, l, known)
	if err != nil {
		return nil, err
	}
	file := fileOf(as, name)
	c := &Checkup{Job: name, Layout: form.Layout, Class: form.Class, Leader: v.Leader, Named: file != nil, Ours: v.Dirs.Module, Newest: form.Newest}
	c.Members = checkedMembers(v, form)
	switch {
	case v.Config == nil && v.ConfigFault == "" && len(form.Online) == 0 && !v.Dirs.Instances && !v.Dirs.Servers:
		if file == nil {
			return nil, nil
		}
		c.note(reason.NotInRegistry)
		above, err := o.newestAbove(ctx)
		if err != nil {
			return nil, err
		}
		c.Newest = max(c.Newest, above)
	case form.Layout != "" && !layout.Known(form.Layout):
		c.breaks(reason.Of(reason.OtherLayout, form.Layout))
	case v.Config == nil && v.ConfigFault == "":
		c.breaks(reason.Of(reason.NoConfig))
	default:
		c.examine(as, file, l, v, form)
	}
	return c, nil
}

// form looks at the nodes that differ from layout to layout, of which most are known.
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

// newestAbove is the newest revision that the namespace shows or, where it is not
// there, the nearest node above: a node that was deleted has left its mark there.
func (o *Operator) newestAbove(ctx context.Context) (int64, error) {
	for at := layout.JobsIn(o.namespace); ; at = at[:max(1, strings.LastIndexByte(at, '/'))] {
		n, err := o.session.Read(ctx, at)
		if err != nil || n.Exists || len(at) == 1 {
			return max(n.Stat.Created, n.Stat.ChildrenChanged), err
		}
	}
}

// fileOf is the job of that name in the server's own configuration, or nil.
func fileOf(o *host.Options, name string) *job.Config {
	i := slices.IndexFunc(o.Jobs, func(j job.Config) bool { return j.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Jobs[i]
}

func checkedMembers(v *protocol.View, form layout.Form) []CheckedMember {
	var all []CheckedMember
	for _, in := range v.Instances {
		m := CheckedMember{ID: in.ID, Kind: Java, Disabled: v.ServerDisabled(in.ID)}
		if slices.ContainsFunc(v.Members, func(ours protocol.Member) bool { return ours.ID == in.ID }) {
			m.Kind = Ours
		}
		all = append(all, m)
	}
	for _, id := range v.Ghosts {
		all = append(all, CheckedMember{ID: id, Kind: Ghost})
	}
	for _, ip := range form.Online {
		all = append(all, CheckedMember{ID: job.InstanceID(ip), Kind: Java})
	}
	return all
}

// leaderless tells who is in the way when nobody leads a job that has members.
func (c *Checkup) leaderless(v *protocol.View, form layout.Form) {
	if v.Leader != "" || len(v.Instances) == 0 {
		return
	}
	if form.First == "" {
		c.Notes = append(c.Notes, reason.Of(reason.LatchEmpty))
		return
	}
	if form.FirstOwner == 0 {
		return // that breaks it, and was told
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

// examine looks at a job of a layout that this release speaks.
func (c *Checkup) examine(as *host.Options, file *job.Config, l layout.Layout, v *protocol.View, form layout.Form) {
	foreign := v.Shared()
	c.breaks(v.Faults...)
	c.orphans(l.Orphans(v), foreign)
	for _, place := range form.Unheld {
		c.breaks(reason.Of(reason.LatchUnheld, place))
	}
	c.leaderless(v, form)
	config, module := l.Defined(v)
	if config == nil {
		return // the faults tell
	}
	said := config.Facts()
	c.Class, c.Type = said.Class, said.Type
	facts, joinable := layout.AdmissionFacts(l, file, config, module, foreign)
	facts.Knows = assign.Known(as.Strategies)
	switch {
	case joinable:
		facts.Unable = as.Unable(facts.Job, file)
	default:
		j := config.Apply(job.Config{Name: c.Job, Class: said.Class, Kind: said.Kind, TimeZone: "UTC"})
		facts.Job, facts.Unable = j, admission.Invalid(schedule.Check(j, time.Now()))
		c.Needs = append(c.Needs, reason.Of(reason.NotInConfiguration, c.Job, fmt.Sprintf("%.200q", c.Class), strconv.Quote(string(j.Kind))))
	}
	if file != nil {
		c.compare(l, *file, config, module)
	}
	if why := over(facts.Job); !why.None() {
		c.Notes = append(c.Notes, why)
	}
	verdict := admission.Decide(&facts)
	c.breaks(verdict.Blockers...)
	if c.Notes = append(c.Notes, verdict.OnlyAlone...); len(verdict.OnlyAlone) > 0 {
		c.away(v)
	}
	c.Notes = append(c.Notes, verdict.Warnings...)
	if foreign {
		c.besideForeign(as, said.Failover, form)
	}
}

// besideForeign is what to know of a job that members of ElasticJob share.
func (c *Checkup) besideForeign(as *host.Options, failover bool, form layout.Form) {
	if form.Guarantee {
		c.note(reason.ListenerOnce)
	}
	if failover {
		c.note(reason.FailoverTwice)
		c.prefixes(as.Instance.IP())
	}
}

// away tells of servers of a job that are down. Which of them members of ElasticJob had,
// the registry does not say.
func (c *Checkup) away(v *protocol.View) {
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

// compare tells where the server's own file and the registry differ.
func (c *Checkup) compare(l layout.Layout, file job.Config, config definition.Config, module *definition.Module) {
	merged, err := definition.Merge(l.Define(file), config, module)
	c.breaks(admission.Invalid(err)...)
	for _, d := range merged.Disputed {
		if d.Key != "jobClass" { // of which admission has a reason
			c.note(reason.RegistryFollowed, d.String())
		}
	}
}

func (c *Checkup) breaks(all ...reason.Reason) { c.Breaks = append(c.Breaks, all...) }

func (c *Checkup) note(code reason.Code, args ...string) {
	c.Notes = append(c.Notes, reason.Of(code, args...))
}

// maxOrphans bounds the marks that are named.
const maxOrphans = 5

// orphans tells of marks that their sessions have left behind. A leader of ours
// clears them, but not as long as it cannot know what members of ElasticJob mean
// by them.
func (c *Checkup) orphans(paths []string, beside bool) {
	to, code := &c.Notes, reason.MarkUnheld
	if beside {
		to, code = &c.Breaks, reason.MarkUnheldWithForeign
	}
	for _, path := range paths[:min(len(paths), maxOrphans)] {
		*to = append(*to, reason.Of(code, path))
	}
	if n := len(paths) - maxOrphans; n > 0 {
		*to = append(*to, reason.Of(reason.MoreMarksUnheld, strconv.Itoa(n)))
	}
}

// prefixes tells of addresses that members of ElasticJob 2.1 mix up: they ask
// whether a member's id begins with the address.
func (c *Checkup) prefixes(ip string) {
	for _, m := range c.Members {
		if other := m.ID.IP(); other != ip && (strings.HasPrefix(other, ip) || strings.HasPrefix(ip, other)) {
			c.note(reason.AddressPrefix, ip, other)
			return
		}
	}
}
