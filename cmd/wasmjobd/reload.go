package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/alert"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/metrics"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/runlog"
)

// reloader reads the files of a server again while it runs.
type reloader struct {
	term   *terminal
	flags  serveFlags
	log    *slog.Logger
	tty    bool          // the server was started on a terminal
	screen bool          // a person reads standard error
	asked  chan struct{} // requests by a signal; holds one
	wanted chan want     // requests by callers that wait for the result
	now    atomic.Pointer[config.File]
	sums   map[string][sha256.Size]byte // digests of the secrets that the server uses
	taken  atomic.Pointer[string]       // why the address of [admin] is not available yet; nil if it is

	ip      string                 // of the server
	drained atomic.Pointer[string] // why it starts nothing; nil if it is not drained

	metrics *metrics.Metrics // of the server
	alerts  *alert.Watcher   // of the server
	manager *notifier        // nil if there is none
	events  *admin.Events    // of the server
	logs    *runlog.Logs     // of the server's runs
	push    operator.Push    // options for pushing modules to the server
}

// want is a request to read the files again.
type want struct {
	to  chan<- fresh // has room for the result
	dry bool         // the server keeps its configuration
}

// fresh is the result of reading the files again.
type fresh struct {
	admin.Reloaded
	faults []error   // all faults; if there are any, nothing has changed
	code   host.Code // kind of the faults; "": the files are faulty
}

// newReloader returns the reloader of a server that was started with f. Its channel of requests by a
// signal holds one: while that waits, further signals ask for nothing else.
func newReloader(term *terminal, flags serveFlags, f *config.File, log *slog.Logger) *reloader {
	r := &reloader{term: term, flags: flags, log: log, tty: onTerminal(), asked: make(chan struct{}, 1), wanted: make(chan want), events: admin.NewEvents(), logs: &runlog.Logs{}}
	r.metrics = metrics.New(metrics.Options{Version: version, Revision: thisBuild().Revision, Log: log})
	r.now.Store(f)
	r.sums = f.SecretSums(term.env)
	return r
}

// file returns the configuration that the server uses.
func (r *reloader) file() *config.File { return r.now.Load() }

// hangup requests a reload, or returns that the server must stop: a closing terminal sends the
// same signal, and otherwise the server would go on unseen.
func (r *reloader) hangup() (ends bool) {
	switch {
	case r.tty && !onTerminal():
		r.log.Warn("the terminal on which the server was started is gone, so the server stops as at SIGTERM; to keep it running, start it with a service manager or nohup")
		return true
	case r.flags.shadow:
		r.log.Warn("SIGHUP stops a shadow as SIGTERM does; restart it to use other files")
		return true
	}
	select {
	case r.asked <- struct{}{}:
	default: // a request is waiting already
	}
	return false
}

// onTerminal reports whether the process has a terminal that sends it signals.
func onTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written
	return true
}

// ask requests a reload, and waits for its result.
func (r *reloader) ask(ctx context.Context, dry bool) (admin.Reloaded, error) {
	got := make(chan fresh, 1)
	select {
	case r.wanted <- want{got, dry}:
	case <-ctx.Done():
		return admin.Reloaded{}, &host.Error{Code: host.Unavailable, Msg: "not reloaded: the server is starting or stopping", Err: ctx.Err()}
	}
	select {
	case f := <-got:
		if len(f.faults) > 0 {
			return admin.Reloaded{}, &host.Error{Code: cmp.Or(f.code, host.Invalid), Msg: "not reloaded, the server goes on as before", Err: errors.Join(f.faults...)}
		}
		return f.Reloaded, nil
	case <-ctx.Done():
		return admin.Reloaded{}, &host.Error{Code: host.Unknown, Msg: "the server is still reading its files; see its log for the result", Err: ctx.Err()}
	}
}

// run reads the files at each request, until ctx ends.
func (r *reloader) run(ctx context.Context, h *host.Host) {
	for {
		select {
		case <-r.asked:
			r.reload(ctx, h)
		case w := <-r.wanted:
			if w.dry {
				w.to <- r.try(ctx, h)
			} else {
				w.to <- r.reload(ctx, h)
			}
		case <-ctx.Done():
			return
		}
	}
}

// reload makes the host use the present content of the files, or returns all faults in them.
func (r *reloader) reload(ctx context.Context, h *host.Host) (done fresh) {
	defer r.manager.reloading()() // notifies the service manager now and at the end
	running := r.file()
	next, faults := r.read(running)
	if len(faults) == 0 {
		var err error
		done.Reloaded.Reloaded, err = h.Reload(ctx, next.Jobs, modulesIn(next))
		faults, done.code = faultsOf(err)
	}
	if len(faults) > 0 {
		done = fresh{faults: faults, code: done.code}
		if ctx.Err() != nil {
			return done // the server is stopping, which says nothing about the files
		}
		r.metrics.Reloaded(false)
		for _, fault := range faults {
			r.log.Error("the configuration cannot be used", "error", fault)
		}
		r.log.Error("not reloaded, the server goes on as before", "faults", len(faults))
		return done
	}
	done.NeedRestart = append(running.NeedsRestart(next), r.otherSecrets(next)...)
	for _, key := range done.NeedRestart {
		r.log.Warn("a changed setting needs a restart, the old value stays", "key", key)
	}
	r.now.Store(running.With(next)) // only jobs and modules change without a restart
	r.alerts.Use(next.Jobs)
	r.metrics.Reloaded(true)
	r.log.Info("reloaded", "added", len(done.Added), "changed", len(done.Changed), "removed", len(done.Removed), "unchanged", done.Kept)
	return done
}

// otherSecrets returns the keys of secrets whose values differ from those that the server uses. A
// secret that the files no longer name is a changed setting, which NeedsRestart returns.
func (r *reloader) otherSecrets(next *config.File) (keys []string) {
	sums := next.SecretSums(r.term.env)
	for _, key := range slices.Sorted(maps.Keys(r.sums)) {
		if sum, ok := sums[key]; ok && sum != r.sums[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// try returns what reload would do, or all faults in the files. It changes nothing.
func (r *reloader) try(ctx context.Context, h *host.Host) (done fresh) {
	next, faults := r.read(r.file())
	if done.faults = faults; len(faults) > 0 {
		return done
	}
	var err error
	done.Reloaded.Reloaded, err = h.CheckReload(ctx, next.Jobs, modulesIn(next))
	done.faults, done.code = faultsOf(err)
	return done
}

// faultsOf returns the faults in the error of a host, and its code; nothing for nil.
func faultsOf(err error) (faults []error, code host.Code) {
	if err == nil {
		return nil, ""
	}
	if coded, ok := errors.AsType[*host.Error](err); ok {
		return parts(err), coded.Code
	}
	return parts(err), host.CodeOf(err)
}

// read reads the files, and returns the faults that a running server cannot change to.
func (r *reloader) read(running *config.File) (*config.File, []error) {
	if slices.Contains(r.flags.files, "-") { // standard input
		return nil, []error{errors.New("standard input cannot be read again; name a file with --config, and restart")}
	}
	term, err := serveTerminal(r.term, r.flags)
	if err != nil {
		return nil, []error{err}
	}
	next, err := readConfig(term, r.flags.files)
	if err != nil {
		return nil, parts(err)
	}
	return next, beyond(running, next)
}

// beyond returns the faults of next that come from settings which change only at a restart. Its jobs
// may have commands only if running allows them. Their grants must be within the grant limits of
// running, and must not reach its private files. Private files that are new in next, such as those of
// new secrets, must not be where running guests may be granted a directory.
func beyond(running, next *config.File) (faults []error) {
	allow, own := running.Host.Allow, running.Private()
	for _, c := range next.Jobs {
		if c.Command != "" && !running.Host.NativeScripts {
			faults = append(faults, fmt.Errorf("job %s: commands of the operating system are not allowed in the configuration that the server was started with; restart it", c.Name))
		}
		for _, e := range allow.Violations(c.Allow, own) {
			faults = append(faults, fmt.Errorf("job %s: %s in the configuration that the server was started with; restart it", c.Name, e.Why))
		}
	}
	var trees job.Allow // as if a job had been granted every directory of the limits
	for _, t := range allow.Dirs {
		trees.Dirs = append(trees.Dirs, job.Dir{Host: t.Path, Write: t.Write})
	}
	for _, p := range next.Private() {
		// No guest may write into the directory of a file that was private before, so another file
		// of that kind in it is as safe.
		known := slices.ContainsFunc(own, func(o job.Private) bool {
			return o == p || o.Readable && p.Readable && o.What == p.What && filepath.Dir(o.Path) == filepath.Dir(p.Path)
		})
		if reached := (&host.GrantLimits{Dirs: allow.Dirs}).Violations(trees, []job.Private{p}); !known && len(reached) > 0 {
			faults = append(faults, fmt.Errorf("%s, %s, lies in a directory of [host.allow], so running guests could reach it; restart the server", p.What, p.Path))
		}
	}
	return faults
}

// parts returns the faults that an error joins, to be logged one by one; else the error itself.
func parts(err error) []error {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		faults := make([]error, len(problems))
		for i, p := range problems {
			faults[i] = errors.New(p.String())
		}
		return faults
	}
	if e, ok := errors.AsType[*host.Error](err); ok {
		if all, ok := e.Err.(interface{ Unwrap() []error }); ok {
			return all.Unwrap()
		}
	}
	return []error{err}
}
