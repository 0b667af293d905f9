package operator

import (
	"context"
	"errors"
	"slices"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// errKept says that a server stays disabled after its drain.
var errKept = errors.New("the server stays disabled for the job")

// undrainServer is drainServer for the end of the drain. It returns errKept if the servers stay
// disabled for the job, also if an operator has just said so.
func (o *Operator) undrainServer(ctx context.Context, name, ip string, disabled bool) error {
	defer func() { o.unless = nil }()
	return o.askServer(ctx, name, ip, disabled, func(ctx context.Context) ([]registry.Op, error) { // before each try
		all, n, err := o.readDrains(ctx, "undrain server "+ip)
		if err != nil {
			return nil, err
		}
		if d := all.Find(ip); d == nil || !d.Ending || slices.Contains(d.Kept, name) { // or another operator has ended the drain, or begun a new one
			return nil, errKept
		}
		o.unless = []registry.Op{{Kind: registry.Check, Path: o.tree.Drains(), Version: n.Stat.Version}}
		return nil, nil
	})
}

// keepDisabled returns the operation by which the servers at an address stay disabled for a job
// after the drain; none if they stay so anyway.
func (o *Operator) keepDisabled(ctx context.Context, name, ip string) ([]registry.Op, error) {
	what := "disable a server of job " + name
	all, n, err := o.readDrains(ctx, what)
	switch {
	case host.CodeOf(err) == host.Refused: // unreadable, which keeps nobody from disabling a server
		return nil, nil
	case err != nil:
		return nil, err
	}
	changed, err := noteKept(&all, what, ip, name)
	if err != nil || !changed {
		return nil, err
	}
	return []registry.Op{setOrCreate(o.tree.Drains(), n, all.Encode())}, nil
}

// keepAllDisabled is keepDisabled for many jobs. All servers read the drains after each change, so it
// changes them once.
func (o *Operator) keepAllDisabled(ctx context.Context, ip string, jobs []string) error {
	what := "disable server " + ip
	drains, _, err := o.readDrains(ctx, what)
	switch {
	case host.CodeOf(err) == host.Refused: // unreadable, as above
		return nil
	case err != nil:
		return err
	}
	if changed, err := noteKept(&drains, what, ip, jobs...); err != nil || !changed {
		return err
	}
	d := deed{verb: "server disable", detail: "server=" + ip, before: "drained", after: "disabled"}
	return o.changeDrains(ctx, what, d, func(all *clustertree.Drains) error {
		_, err := noteKept(all, what, ip, jobs...)
		return err
	})
}

// noteKept notes in the drain of an address, if there is one, that its servers stay disabled for jobs
// after it. It reports whether that changed the drain. Errors begin with what.
func noteKept(all *clustertree.Drains, what, ip string, jobs ...string) (changed bool, err error) {
	is := all.Find(ip)
	if is == nil {
		return false, nil
	}
	has := make(map[string]bool, len(is.Kept))
	for _, name := range is.Kept {
		has[name] = true
	}
	next := *is
	next.Kept = slices.Clip(is.Kept)
	for _, name := range jobs {
		if !has[name] {
			next.Kept = append(next.Kept, name)
		}
	}
	if len(next.Kept) == len(is.Kept) {
		return false, nil
	}
	if !all.Put(next) {
		return false, failf(host.Refused, nil, "%s: there is no room to note that server %s stays disabled after its drain; undrain it first", what, ip)
	}
	return true, nil
}

// enableAfterDrain lets the end of a drain enable the servers at its address for a job for which they
// would have stayed disabled. It reports whether that was so.
func (o *Operator) enableAfterDrain(ctx context.Context, name, ip string) (was bool, err error) {
	a := protocol.AskServer{IP: ip, Disabled: true} // until the drain ends
	also := func(ctx context.Context) ([]registry.Op, error) {
		all, n, err := o.readDrains(ctx, "enable job "+name)
		if err != nil {
			return nil, err
		}
		d := all.Find(ip)
		if d == nil || d.Ending {
			return nil, failf(host.Refused, nil, "enable job %s: the drain of server %s has just ended; try again", name, ip)
		}
		i := slices.Index(d.Kept, name)
		if i < 0 { // or an earlier try without an answer has done it
			return nil, nil
		}
		was = true
		d.Kept = slices.Delete(slices.Clone(d.Kept), i, i+1)
		return []registry.Op{setOrCreate(o.tree.Drains(), n, all.Encode())}, nil
	}
	err = o.askBy(ctx, request{verb: verb{"enable", "job enable"}, job: name, about: a, also: also, wish: func(*protocol.View) (protocol.Ask, deed, error) {
		return a, deed{detail: "server=" + ip, before: "disabled", after: "drained"}, nil
	}})
	return was, err
}

// jobsAt lists the jobs that know an address. unread are jobs whose configuration could not be read.
func (o *Operator) jobsAt(ctx context.Context, ip string) (names, unread []string, err error) {
	jobs, err := o.jobsNow(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range jobs {
		j := &jobs[i]
		switch {
		case j.Config == nil:
			unread = append(unread, j.Name)
		case slices.ContainsFunc(j.Servers, func(s ServerState) bool { return s.IP == ip }):
			names = append(names, j.Name)
		}
	}
	return names, unread, nil
}

// switchServers calls by for each of the jobs, and returns those for which it did not return errKept.
func switchServers(ctx context.Context, jobs []string, ip string, disabled bool, by func(ctx context.Context, name, ip string, disabled bool) error) (set []string, err error) {
	for _, name := range jobs {
		switch err := by(ctx, name, ip, disabled); {
		case err == nil:
			set = append(set, name)
		case !errors.Is(err, errKept):
			return set, err
		}
	}
	return set, nil
}
