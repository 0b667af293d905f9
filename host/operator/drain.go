package operator

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Drain is an operator's request that the servers at an address start nothing.
type Drain struct {
	By    string    `json:"by,omitempty"`
	Why   string    `json:"why,omitempty"`
	Since time.Time `json:"since"`
}

const verbDrain = "server drain"

// Servers reports on the servers that jobs know, with their drains, sorted by address.
func (o *Operator) Servers(ctx context.Context) ([]ServerReport, error) {
	jobs, err := o.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	all := ServersOf(jobs)
	drains, _, err := o.readDrains(ctx, "list the servers")
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Drain = drainOf(drains.Find(all[i].IP))
	}
	return all, nil
}

// drainOf converts a drain of the registry; nil: there is none.
func drainOf(d *clustertree.Drain) *Drain {
	if d == nil {
		return nil
	}
	return &Drain{By: d.By, Why: d.Why, Since: time.UnixMilli(d.Since)}
}

// addDrains adds to disabled servers in reports the drain that has disabled them. A server that an
// operator has disabled for a job as well gets none, since it stays disabled after the drain.
func (o *Operator) addDrains(ctx context.Context, jobs []JobReport) error {
	disabled := func(s ServerState) bool { return s.Disabled }
	if !slices.ContainsFunc(jobs, func(j JobReport) bool { return slices.ContainsFunc(j.Servers, disabled) }) {
		return nil
	}
	drains, _, err := o.readDrains(ctx, "report on jobs")
	switch {
	case host.CodeOf(err) == host.Refused: // unreadable, as Servers reports; a list of jobs works without it
		return nil
	case err != nil:
		return err
	}
	for i := range jobs {
		j := &jobs[i]
		j.Servers = slices.Clone(j.Servers) // the roster shares the report
		for k := range j.Servers {
			s := &j.Servers[k]
			if d := drains.Find(s.IP); s.Disabled && d != nil && !slices.Contains(d.Kept, j.Name) {
				s.Drain = drainOf(d)
			}
		}
	}
	return nil
}

// drainAt is the drain that has disabled the servers at an address for a job; nil: there is none.
func (r *JobReport) drainAt(ip string) *Drain {
	for _, s := range r.Servers {
		if s.IP == ip {
			return s.Drain
		}
	}
	return nil
}

// Drained returns the servers that a drain has disabled for a job.
func (r *JobReport) Drained() (all []ServerState) {
	for _, s := range r.Servers {
		if s.Drain != nil {
			all = append(all, s)
		}
	}
	return all
}

// reason says why a drained server starts nothing.
func (d *Drain) reason() reason.Reason { return reason.Of(reason.ServerDrained, d.By, d.Why) }

// Drain makes the servers at an address start nothing: it disables them for every job that knows
// them, now or later. Their items move once their open runs have ended. It returns the jobs for
// which it disabled them, and those that it could not read and left unchanged.
func (o *Operator) Drain(ctx context.Context, ip, why string) (set, unread []string, err error) {
	what := "drain server " + ip
	if err := checkWhy(what, why); err != nil {
		return nil, nil, err
	}
	jobs, err := o.jobsNow(ctx)
	if err != nil {
		return nil, nil, err
	}
	var kept []string // jobs for which the address is disabled already, and stays so after the drain
	known := false
	for i := range jobs {
		for _, s := range jobs[i].Servers {
			known = known || s.IP == ip
			if s.IP == ip && s.Disabled {
				kept = append(kept, jobs[i].Name)
			}
		}
	}
	if !known {
		return nil, nil, failf(host.NotFound, nil, "no job knows a server %s", ip)
	}
	now, err := o.surelyNow(ctx)
	if err != nil {
		return nil, nil, readError(err, "%s: ask the registry for its time", what)
	}
	detail := "server=" + ip
	if why != "" {
		detail += " reason=" + why
	}
	err = o.changeDrains(ctx, what, deed{verb: verbDrain, detail: detail, after: "drained"}, func(all *clustertree.Drains) error {
		next := clustertree.Drain{Server: ip, By: o.author.Name, Why: why, Since: now.UnixMilli(), Kept: kept}
		if before := all.Find(ip); before != nil { // a repeated drain continues an interrupted one
			next.Since, next.Kept = before.Since, before.Kept
			if why == "" && !before.Ending { // as of drain --wait, which only waits for the rest
				next.By, next.Why = before.By, before.Why
			}
		}
		if !all.Put(next) {
			return failf(host.Refused, nil, "%s: there is no room for another drain; undrain other servers, or use server disable", what)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	names, unread, err := o.jobsAt(ctx, ip)
	if err != nil {
		return nil, nil, err
	}
	set, err = switchServers(ctx, names, ip, true, o.drainServer)
	return set, unread, err
}

// Undrain ends a drain: it enables the servers at an address for all jobs except those for which
// they were disabled before the drain, or by an operator during it. A repeated Undrain continues an
// interrupted one. It returns the jobs as Drain does.
func (o *Operator) Undrain(ctx context.Context, ip string) (set, unread []string, err error) {
	what, sent := "undrain server "+ip, false
	d := deed{verb: "server undrain", detail: "server=" + ip, before: "drained"}
	err = o.changeDrains(ctx, what, d, func(all *clustertree.Drains) error {
		is := all.Find(ip)
		if is == nil && !sent {
			return failf(host.NotFound, nil, "server %s is not drained", ip)
		}
		if is != nil { // servers that see Ending do not disable themselves again
			is.Ending = true
		}
		sent = true // after a try without an answer, another operator may have ended it
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	names, unread, err := o.jobsAt(ctx, ip)
	if err == nil {
		set, err = switchServers(ctx, names, ip, false, o.undrainServer)
	}
	if err != nil {
		return set, unread, failf(host.CodeOf(err), err, "server %s is not drained any more, and still disabled for some jobs: undrain it again", ip)
	}
	d.unaudited = true // the first transaction has written the row
	return set, unread, o.changeDrains(ctx, what, d, func(all *clustertree.Drains) error {
		if is := all.Find(ip); is != nil && is.Ending { // else it was drained anew meanwhile
			all.Remove(ip)
		}
		return nil
	})
}

// notDrained refuses to enable servers at a drained address: they would start something, and
// then disable themselves again. With disabled it refuses nothing.
func (o *Operator) notDrained(ctx context.Context, ip string, disabled bool) error {
	if disabled {
		return nil
	}
	drains, _, err := o.readDrains(ctx, "enable server "+ip)
	if err != nil {
		return err
	}
	return refuseDrained(drains, ip)
}

// refuseDrained returns an error if the address is drained, unless an Undrain has begun.
func refuseDrained(drains clustertree.Drains, ip string) error {
	if d := drains.Find(ip); d != nil && !d.Ending {
		return failf(host.Refused, nil, "enable server %s: %s has drained it since %s; use server undrain", ip, d.By, time.UnixMilli(d.Since).UTC().Format(time.RFC3339))
	}
	return nil
}

// jobsNow lists the jobs after a sync, without cached reports.
func (o *Operator) jobsNow(ctx context.Context) ([]JobReport, error) {
	if err := o.session.Sync(ctx); err != nil { // without a sync, a new job could be missed
		return nil, failf(host.Unavailable, err, "list the jobs of namespace %s", o.namespace)
	}
	o.roster = nil // events of other writes may still be on their way
	return o.Jobs(ctx)
}

// drainServer disables the servers at an address for a job until the drain ends, or enables them
// when it ends.
func (o *Operator) drainServer(ctx context.Context, name, ip string, disabled bool) error {
	return o.askServer(ctx, name, ip, disabled, nil)
}

// readDrains reads the drains and their node. Errors begin with what.
func (o *Operator) readDrains(ctx context.Context, what string) (clustertree.Drains, registry.Node, error) {
	return readState(ctx, o, what, "drains", o.tree.Drains(), clustertree.DecodeDrains)
}

// changeDrains changes the node of drains. It calls change again if a try conflicts or has no answer.
func (o *Operator) changeDrains(ctx context.Context, what string, d deed, change func(*clustertree.Drains) error) error {
	return o.changeState(ctx, what, &d, func(time.Time) ([]registry.Op, error) {
		all, n, err := o.readDrains(ctx, what)
		if err != nil {
			return nil, err
		}
		if err := change(&all); err != nil {
			return nil, err
		}
		return []registry.Op{setOrCreate(o.tree.Drains(), n, all.Encode())}, nil
	})
}

// joinedEvery is how often a drained server looks for new jobs.
const joinedEvery = 5 * time.Second

// KeepDrained reports the drain of the server at an address, nil without one, until ctx ends. During
// a drain it also disables the server for new jobs. While the registry cannot be reached, the last
// report holds.
func (s *SharedSession) KeepDrained(ctx context.Context, ip string, report func(*Drain), log *slog.Logger) {
	session.Again(ctx, func() error { return s.keepDrained(ctx, ip, report) }, func(err error) {
		log.Debug("whether this server is drained is not seen until the registry is back", "error", err)
	})
}

// keepDrained does the work of KeepDrained until its session or ctx ends.
func (s *SharedSession) keepDrained(ctx context.Context, ip string, report func(*Drain)) error {
	o, err := s.Operator(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }() // the shared session stays open
	o.As(Author{Name: "server " + ip, Way: ByRegistry})
	if err := o.session.Follow(ctx, o.tree.Drains()); err != nil {
		return failf(host.Unavailable, err, "follow the drains")
	}
	again := time.NewTicker(joinedEvery)
	defer again.Stop()
	for {
		events, _ := o.inbox.Take()
		if slices.ContainsFunc(events, func(e registry.Event) bool { return e.Kind == registry.Ended }) {
			return failf(host.Unavailable, nil, "the session has ended")
		}
		all, n, err := o.readDrains(ctx, verbDrain)
		if err != nil {
			return err
		}
		d := all.Find(ip)
		if d != nil && d.Ending {
			d = nil
		}
		report(drainOf(d))
		joined := again.C
		if d == nil { // only a drained server looks for new jobs; else a change of the drains is all that counts
			joined = nil
		} else if err := o.drainJoined(ctx, ip, n); err != nil {
			return err
		}
		select {
		case <-o.inbox.News():
		case <-joined:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drainJoined disables a drained server for jobs for which it is enabled. If the drains have changed
// since they were read, its writes fail.
func (o *Operator) drainJoined(ctx context.Context, ip string, drains registry.Node) error {
	jobs, err := o.Jobs(ctx)
	if err != nil {
		return err
	}
	o.unless = []registry.Op{{Kind: registry.Check, Path: o.tree.Drains(), Version: drains.Stat.Version}}
	defer func() { o.unless = nil }()
	for i := range jobs {
		if j := &jobs[i]; j.Config != nil && slices.Contains(j.Servers, ServerState{IP: ip}) { // enabled
			if err := o.drainServer(ctx, j.Name, ip, true); err != nil {
				return err
			}
		}
	}
	return nil
}
