// Package finder follows the jobs of the registry that are not in a server's own file,
// and carries out the decisions of package discovery. It reads names and definitions; its
// Host runs the jobs. It has no goroutine while nothing changes.
package finder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/discovery"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Options are the settings of a Finder.
type Options struct {
	Namespace string
	Own       []string // the jobs of the server's own file
	Sessions  *session.Server
	Host      Host
	Log       *slog.Logger
	// Go starts work that the server awaits before it calls End.
	Go func(func())
	// Undefined, if set, keeps the Finder from starting jobs. It receives the jobs of the
	// registry that no file of this server has: all once after the start, and later each
	// that FileLost names. After an error it receives them again.
	Undefined func(ctx context.Context, names []string, s *session.Job) error
	// Created, used with Undefined, selects from the names in the registry the jobs that
	// no file has ever had: these are started nevertheless. If nil, none are.
	Created func(ctx context.Context, names []string, s *session.Job) ([]string, error)
}

// Host runs the jobs that the Finder has found.
type Host interface {
	// Unable returns the reasons why this server may not run a job.
	Unable(c job.Config) []reason.Reason
	// Found returns the host's part of a found job.
	Found(name string) Job
}

// Job is the host's part of a candidate. Its methods are called one at a time, except as
// Start says.
type Job interface {
	// Show lists the job, or replaces its configuration in the list. The configuration of
	// a running job is replaced by changed instead, which its runner calls.
	Show(c job.Config)
	// Load loads the job's code. With again, the error may be temporary.
	Load(ctx context.Context, c job.Config) (again bool, err error)
	// Prefetch is Load for a running job. It does not wait.
	Prefetch(c job.Config)
	// Start runs the job until ctx ends or an operator shuts it down here. changed
	// receives each new configuration, and nil if the registry no longer has the job.
	// ended is called once when the job has ended; asked says whether ctx had ended. The
	// server waits for it as for work started by Go. joined is closed when the job has
	// joined. After an error nothing runs.
	Start(ctx context.Context, changed func(*job.Config), ended func(asked bool)) (joined <-chan struct{}, err error)
	// Refuse shows why the job does not run here. The job may not have been shown before.
	Refuse(err error)
	// Hide removes the job from the list if it was shown.
	Hide()
}

// ErrShut is the reason for a job that an operator has shut down on this server.
var ErrShut = errors.New("it was shut down on this server")

// Finder follows the list of jobs in the registry. Make it with New.
type Finder struct {
	o     Options
	ctx   context.Context //nolint:containedctx // of the server's run
	root  string          // the parent of all jobs
	looks chan struct{}   // bounds how many candidates are read at once

	once   sync.Once
	opened chan struct{} // closed when session is set
	listed chan struct{} // closed when the jobs were listed for the first time

	mu         sync.Mutex // guards the fields below
	state      *discovery.State
	candidates map[string]*candidate
	session    *session.Job
	lost       bool // session has ended
	retry      *time.Timer
}

// MaxLooks bounds how many candidates are read at once.
const MaxLooks = 256

// New returns a Finder that has not begun and ends with ctx.
func New(ctx context.Context, o Options) *Finder {
	root := "/" // without a namespace
	if above := layout.NewJob(o.Namespace, "").Namespace(); len(above) > 0 {
		root = above[len(above)-1]
	}
	return &Finder{
		o: o, ctx: ctx, root: root, looks: make(chan struct{}, MaxLooks), opened: make(chan struct{}), listed: make(chan struct{}),
		state: discovery.New(o.Own...), candidates: map[string]*candidate{},
	}
}

// Begin starts to look for jobs. The caller calls End when ctx and all work have ended.
func (f *Finder) Begin() {
	f.o.Go(func() { // once this has ended, no work starts
		<-f.ctx.Done()
		f.step(discovery.Stop{})
		f.mu.Lock()
		defer f.mu.Unlock()
		stopTimer(f.retry)
		for _, c := range f.candidates {
			stopTimer(c.retry)
		}
	})
	f.step(discovery.ListChanged{})
}

// End closes the sessions, even after the server's context has ended.
func (f *Finder) End() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), closeTimeout)
	defer cancel()
	var faults []error
	for _, c := range f.candidates {
		if c.session != nil {
			faults = append(faults, c.session.Close(ctx))
		}
	}
	if f.session != nil {
		faults = append(faults, f.session.Close(ctx))
	}
	return errors.Join(faults...)
}

const closeTimeout = 10 * time.Second

// step passes an input to package discovery and starts the resulting effects.
func (f *Finder) step(in discovery.Input) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.state.Step(in) {
		f.do(e)
	}
}

// do carries out an effect. Long operations run in Options.Go. The caller holds mu.
func (f *Finder) do(e discovery.Effect) {
	switch e := e.(type) {
	case discovery.List:
		f.o.Go(f.list)
	case discovery.RetryList:
		stopTimer(f.retry)
		f.retry = time.AfterFunc(backoff.Spread(e.After), func() { f.step(discovery.ListChanged{}) })
	case discovery.FirstListed:
		close(f.listed)
	case discovery.Look:
		c := f.candidates[e.Name]
		if c == nil {
			c = newCandidate(f, e.Name)
			f.candidates[e.Name] = c
		}
		f.o.Go(func() { c.look(e.Anew) })
	case discovery.Try:
		f.o.Go(f.candidates[e.Name].try)
	case discovery.Start:
		c := f.candidates[e.Name]
		stopTimer(c.retry)
		var ctx context.Context
		ctx, c.withdraw = context.WithCancel(f.ctx)
		withdraw := c.withdraw
		f.o.Go(func() { c.start(ctx, withdraw) })
	case discovery.Withdraw:
		f.candidates[e.Name].end(e)
	case discovery.Prefetch:
		c := f.candidates[e.Name]
		c.job.Prefetch(c.config)
	case discovery.KeepShut:
		c := f.candidates[e.Name]
		f.o.Go(func() { c.refuse(ErrShut, false) })
	case discovery.Hide:
		c := f.candidates[e.Name]
		f.o.Go(func() { c.leave(e.Forget) })
	case discovery.Settled:
		f.candidates[e.Name].settle()
	case discovery.Gone:
		c := f.candidates[e.Name]
		stopTimer(c.retry)
		delete(f.candidates, e.Name)
		close(c.gone)
	case discovery.Retry:
		c := f.candidates[e.Name]
		stopTimer(c.retry)
		c.retry = time.AfterFunc(backoff.Spread(e.After), func() { f.step(discovery.Touched{Name: e.Name}) })
	}
}

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// Alongside starts work that the server awaits when it ends. If the server is about to
// end, it starts none.
func (f *Finder) Alongside(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.state.Stopped() {
		f.o.Go(do)
	}
}

// FileLost names one of the host's own jobs that was removed and has left. It may now be
// found in the registry, or run nowhere.
func (f *Finder) FileLost(name string) {
	f.step(discovery.FileLost{Name: name})
}

// FileHas makes a candidate leave, because it is now one of the host's own jobs. It
// returns when the candidate has left or the host ends.
func (f *Finder) FileHas(name string) {
	f.mu.Lock()
	c := f.candidates[name]
	f.mu.Unlock()
	f.step(discovery.FileHas{Name: name})
	if c == nil {
		return
	}
	select {
	case <-c.gone:
	case <-f.ctx.Done():
	}
}

// Event implements session.Listener.
func (f *Finder) Event(e registry.Event) {
	switch e.Kind {
	case registry.Suspended:
		return
	case registry.Ended:
		f.mu.Lock()
		f.lost = true
		f.mu.Unlock()
	case registry.Changed, registry.Resumed:
	}
	f.step(discovery.ListChanged{})
}

// HealthChanged implements session.Listener.
func (f *Finder) HealthChanged(session.Health) {}

// list carries out discovery.List.
func (f *Finder) list() {
	names, err := f.names()
	if err == nil {
		f.step(discovery.Listed{Names: names})
		return
	}
	if f.ctx.Err() == nil {
		f.o.Log.Warn("the jobs in the registry cannot be listed, trying again", "path", f.root, "error", err)
	}
	f.step(discovery.ListFailed{})
}

// names returns the names of the jobs in the registry that may be candidates: all of them or,
// with Options.Undefined, only those that Created selects, if any.
func (f *Finder) names() ([]string, error) {
	s, err := f.openSession()
	if err != nil {
		return nil, err
	}
	if f.o.Undefined != nil {
		if err := f.undefined(s); err != nil || f.o.Created == nil {
			return nil, err
		}
	}
	names, err := f.read(s)
	if err != nil || f.o.Created == nil {
		return names, err
	}
	return f.o.Created(f.ctx, names, s)
}

// read returns the names of the nodes in the registry that may be jobs. It leaves out
// names of nodes for the state of a cluster, which operators do not see.
func (f *Finder) read(s *session.Job) ([]string, error) {
	n, err := s.Read(f.ctx, f.root)
	return slices.DeleteFunc(slices.Clone(n.Children), clustertree.Reserved), err
}

// undefined passes on the jobs that no file of this server has, if some are due. The next
// call does so again if that fails.
func (f *Finder) undefined(s *session.Job) error {
	f.mu.Lock()
	lost, due := f.state.UndefinedDue()
	f.mu.Unlock()
	if !due {
		return nil
	}
	all, err := f.read(s)
	if err != nil {
		return err
	}
	f.mu.Lock()
	undefined := f.state.Undefined(all, lost)
	f.mu.Unlock()
	if err := f.o.Undefined(f.ctx, undefined, s); err != nil {
		return err
	}
	f.step(discovery.Reported{Lost: lost})
	return nil
}

// openSession returns the session that follows the list of jobs. If that has ended, it
// opens another one.
func (f *Finder) openSession() (*session.Job, error) {
	f.mu.Lock()
	s, lost := f.session, f.lost
	f.mu.Unlock()
	if s != nil && !lost {
		return s, nil
	}
	if s != nil {
		if err := s.Close(f.ctx); err != nil {
			return nil, fmt.Errorf("close a session of the registry: %w", err)
		}
	}
	s, err := f.o.Sessions.Open(f.ctx, f.root, f)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.session, f.lost = s, false
	f.once.Do(func() { close(f.opened) })
	return s, nil
}

// Await waits until every job that was found at the start has joined or was refused. It
// returns false if ctx ended first.
func (f *Finder) Await(ctx context.Context) bool {
	if f.o.Undefined == nil || f.o.Created != nil { // otherwise nothing is found
		select {
		case <-f.listed:
		case <-ctx.Done():
			return false
		}
	}
	f.mu.Lock()
	candidates := slices.Collect(maps.Values(f.candidates))
	f.mu.Unlock()
	for _, c := range candidates {
		select {
		case <-c.settled:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Session returns the session that follows the list of jobs, for reads. It waits until
// there is one.
func (f *Finder) Session(ctx context.Context) (*session.Job, error) {
	select {
	case <-f.opened:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.session, nil
}
