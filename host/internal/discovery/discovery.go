// Package discovery decides what a server does with jobs of the registry that are not in
// its own file. Each such job is a candidate: its definition is read, and it starts here
// if the server may and can run it. Otherwise it waits for a change.
//
// State takes one Input after the other and returns Effects. It has no clock and no lock,
// and reads nothing; package finder does that. At most one effect with an answer is under
// way for each candidate.
package discovery

import (
	"maps"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
)

// These bound the pauses before retries.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
)

// State is the knowledge about the registry's jobs. Make it with New.
type State struct {
	own        map[string]bool // the jobs of the server's own file
	candidates map[string]*candidate
	closed     bool // the server stops: nothing more begins

	names     []string // as last listed
	listing   bool     // an answer is awaited
	listAgain bool     // the list changed meanwhile
	listed    bool     // it was read at least once
	failures  int      // reads of it that failed in a row

	reported bool            // jobs that no file defines were reported once
	lost     map[string]bool // jobs named by FileLost since
}

// New returns the state of a server whose own file has these jobs.
func New(own ...string) *State {
	s := &State{own: map[string]bool{}, candidates: map[string]*candidate{}, lost: map[string]bool{}}
	for _, name := range own {
		s.own[name] = true
	}
	return s
}

// Step takes an input and returns the resulting effects.
func (s *State) Step(in Input) []Effect {
	var p plan
	switch in := in.(type) {
	case Stop:
		s.closed = true
	case ListChanged:
		s.list(&p)
	case Listed:
		s.seeList(in.Names, &p)
	case ListFailed:
		s.listing = false
		if s.failures++; !s.closed {
			p.add(RetryList{backoff.After(firstPause, lastPause, s.failures)})
		}
		s.listOnceMore(&p)
	case FileHas:
		s.own[in.Name] = true
		if c := s.candidates[in.Name]; c != nil {
			c.yield(s, &p)
		}
	case FileLost:
		delete(s.own, in.Name)
		s.lost[in.Name] = true
		s.list(&p)
	case Reported:
		s.undefinedReported(in.Lost)
	case CandidateInput:
		if c := s.candidates[in.candidate()]; c != nil {
			c.step(s, in, &p)
		}
	}
	return p.effects
}

// list requests the names of all jobs.
func (s *State) list(p *plan) {
	switch {
	case s.closed:
	case s.listing:
		s.listAgain = true
	default:
		s.listing, s.listAgain = true, false
		p.add(List{})
	}
}

// listOnceMore lists again if the list changed while it was read.
func (s *State) listOnceMore(p *plan) {
	if s.listAgain {
		s.list(p)
	}
}

// seeList finds the jobs that have come and gone.
func (s *State) seeList(names []string, p *plan) {
	s.listing, s.failures = false, 0
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
		if c := s.candidates[name]; c != nil {
			c.there = true
		} else if !s.own[name] { // it has come
			c = &candidate{name: name, there: true}
			s.candidates[name] = c
			c.look(s, p)
		}
	}
	for _, name := range s.names {
		if c := s.candidates[name]; c != nil && !there[name] { // it has gone; the next look shows what is left
			c.there = false
			c.look(s, p)
		}
	}
	s.names = names
	if !s.listed {
		s.listed = true
		p.add(FirstListed{})
	}
	s.listOnceMore(p)
}

// Stopped reports whether the server stops.
func (s *State) Stopped() bool { return s.closed }

// Candidates returns the names of all candidates, ascending.
func (s *State) Candidates() []string { return slices.Sorted(maps.Keys(s.candidates)) }

// plan collects effects.
type plan struct{ effects []Effect }

func (p *plan) add(e Effect) { p.effects = append(p.effects, e) }
