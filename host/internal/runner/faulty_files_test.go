package runner

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// files adds a job that changes only in the servers' files, for every second seed. Each
// server gets the versions in the same order, but each at its own time: while it runs, or
// with a restart. Each version gives every key that it changes a new value. A server that
// applied a version and lost track of that would take a key that returns to its old value
// for an unchanged one.
func (p *plan) files(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 13)) // no seed of TestFaultyRegistryMended has such a job
	if rng.IntN(2) > 0 {
		return
	}
	crons := []string{"5s", "10s", "15s", "30s"}
	rng.Shuffle(len(crons), func(i, j int) { crons[i], crons[j] = crons[j], crons[i] })
	c, shards := drawJob(rng, len(p.jobs)), rng.Perm(5)
	for n := range 2 + rng.IntN(len(crons)-1) {
		c.Param, c.Timeout, c.Cron, c.Shards = fmt.Sprintf("version %d", n), time.Duration(n+1)*time.Hour, crons[n], shards[n]+1
		p.versions = append(p.versions, c)
	}
	p.jobs = append(p.jobs, p.versions[0])
	p.changed[c.Name] = true
	for server := range p.servers {
		at := time.Duration(0)
		for _, v := range p.versions[1:] {
			pause := p.length / time.Duration(len(p.versions))
			if rng.IntN(3) == 0 {
				pause = 20 * time.Millisecond // while the version before is merged into the registry
			}
			at += within(rng, 0, pause)
			restart := rng.IntN(3) == 0
			p.add(at, fmt.Sprintf("server %d: its file has %s of %s, restart: %t", server, v.Param, v.Name, restart), func(w *faultyWorld) {
				w.servers[server].reads(&v, restart)
			})
		}
	}
}

// inFile reports whether a job is the one that changes in files.
func (p *plan) inFile(name string) bool {
	return len(p.versions) > 0 && p.versions[0].Name == name
}

// sameVersion compares the fields that versions change.
func sameVersion(a, b *job.Config) bool {
	return a.Param == b.Param && a.Timeout == b.Timeout && a.Cron == b.Cron && a.Shards == b.Shards
}

// reads gives the server's file another version of the job.
func (s *faultyServer) reads(c *job.Config, restart bool) {
	s.mu.Lock()
	s.file = c
	s.mu.Unlock()
	r := s.runner(c.Name)
	switch {
	case r == nil: // the server reads it when it starts
	case restart:
		s.stop()
		s.start()
	default:
		r.Redefine(c)
	}
}

// goesByFile makes a job follow the server's file, and what the server remembers of the
// file.
func (s *faultyServer) goesByFile(o *Options) {
	if !s.inFile(o.Config.Name) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		o.Config = s.file
	}
	o.Define = func(file job.Config) definition.Definition {
		d := layout.NewJob("test", "").Define(file)
		s.mu.Lock()
		said := s.said
		s.says = file.Param
		s.mu.Unlock()
		if said == nil {
			return d
		}
		if err := d.Recall(said); err != nil {
			s.t.Error(err)
		}
		return d
	}
	o.Defined = func(said []byte) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said, s.brought[s.says] = bytes.Clone(said), true
	}
}

// bringsOnce checks that a server that restarts or returns with an unchanged file does
// not undo what other files have brought since.
func (s *faultyServer) bringsOnce(ops []registry.Op) {
	for i := range ops {
		if ops[i].Kind != registry.Set || len(s.versions) == 0 || ops[i].Path != layout.NewJob("test", s.versions[0].Name).At("config") {
			continue
		}
		c, err := v21.DecodeConfig(ops[i].Data)
		if err != nil {
			s.t.Error(err)
			continue
		}
		s.mu.Lock()
		if s.brought[c.JobParameter] {
			s.breach("%s brings %q into the registry again", s.ip, c.JobParameter)
		}
		s.mu.Unlock()
	}
}

// checkDefinition checks that the definition in force is a single version.
func (g *inGuest) checkDefinition() {
	c := &g.c.Config
	if g.inFile(c.Name) && !slices.ContainsFunc(g.versions, func(v job.Config) bool { return sameVersion(&v, c) }) {
		g.breach("%v begins by no version of the files: %q, %v, %s, %d items", g, c.Param, c.Timeout, c.Cron, c.Shards)
	}
}

// checkFiles checks that all servers agree once all files agree.
func (w *faultyWorld) checkFiles() {
	if len(w.versions) == 0 {
		return
	}
	want := &w.versions[len(w.versions)-1]
	for _, s := range w.servers {
		if c := s.runner(want.Name).Status().Config; !sameVersion(&c, want) {
			w.breach("%s goes by %q, %v, %s and %d items of %s; all files say %q, %v, %s and %d", s.ip, c.Param, c.Timeout, c.Cron, c.Shards, c.Name, want.Param, want.Timeout, want.Cron, want.Shards)
		}
	}
}
