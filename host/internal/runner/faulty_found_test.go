package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/finder"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// found adds a job that is in the files of only some servers, for every second seed. The
// others find it in the registry, and it is removed from there now and then.
func (p *plan) found(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 145)) // no seed of TestFaultyRegistryMended has such a job
	if rng.IntN(2) > 0 {
		return
	}
	c := drawJob(rng, len(p.jobs))
	p.jobs = append(p.jobs, c)
	p.changed[c.Name] = true
	p.finds = make([]bool, p.servers) // the first server does not: operators ask it for changes that concern all
	for k := 1; k < p.servers; k++ {
		p.finds[k] = k == p.servers-1 || rng.IntN(2) == 0
	}
	for range 1 + rng.IntN(3) {
		away := within(rng, 0, 2*faultyTimeout) // sessions may end meanwhile
		p.add(within(rng, 0, p.length), fmt.Sprintf("remove %s for %v", c.Name, away), func(w *faultyWorld) { w.remove(c.Name, away) })
	}
}

// findsIn reports whether a server finds the job only in the registry.
func (s *faultyServer) findsIn(name string) bool {
	return s.finds != nil && name == s.jobs[len(s.jobs)-1].Name && s.finds[slices.Index(s.servers, s)]
}

// find starts discovery on a server. The server waits for work, and calls end before it
// closes its session.
func (s *faultyServer) find(ctx context.Context, sessions *session.Server, log *slog.Logger, work *sync.WaitGroup) (end func() error) {
	o := finder.Options{Namespace: "test", Sessions: sessions, Host: &foundJobs{s, sessions, log, work}, Log: log, Go: work.Go}
	for _, c := range s.jobs {
		if !s.findsIn(c.Name) {
			o.Own = append(o.Own, c.Name)
		}
	}
	f := finder.New(ctx, o)
	f.Begin()
	return f.End
}

// foundJobs implements finder.Host, without modules.
type foundJobs struct {
	s        *faultyServer
	sessions *session.Server
	log      *slog.Logger
	work     *sync.WaitGroup // the server waits for it
}

func (f *foundJobs) Unable(job.Config) []reason.Reason { return nil }

func (f *foundJobs) Found(name string) finder.Job { return &foundJob{foundJobs: f, name: name} }

// foundJob implements finder.Job.
type foundJob struct {
	*foundJobs
	name   string
	config job.Config
}

func (f *foundJob) Show(c job.Config) { f.config = c }

func (f *foundJob) Load(context.Context, job.Config) (again bool, err error) { return false, nil }

func (f *foundJob) Prefetch(job.Config) {}

func (f *foundJob) Start(ctx context.Context, changed func(*job.Config), ended func(asked bool)) (joined <-chan struct{}, err error) {
	config := f.config
	o := f.s.options(f.sessions, f.log, &config)
	o.Changed = changed
	f.work.Add(1)
	r := f.s.begin(ctx, o, func() {
		defer f.work.Done()
		ended(ctx.Err() != nil)
	})
	return r.Joined(), nil
}

func (f *foundJob) Refuse(err error) {
	if errors.Is(err, finder.ErrShut) {
		f.s.breach("%s was shut down on %s, which nobody asked for", f.name, f.s.ip)
	}
}

func (f *foundJob) Hide() {}
