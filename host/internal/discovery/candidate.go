package discovery

import "github.com/wasmjob/wasmjob/host/internal/backoff"

// phase says which operation on a candidate is under way.
type phase int

const (
	resting phase = iota // none: it waits for a change
	looking
	trying
	running // since Start
	keepingShut
	hiding
	forgetting
)

// candidate is a job of the registry that is not in the server's own file.
type candidate struct {
	name     string
	phase    phase
	again    bool // it may have changed during the operation
	there    bool // the newest list has it
	lost     bool // the session in which it was read has ended
	missing  bool // its module may come with a new member
	yields   bool // the server's own file has the job now
	shut     bool // an operator shut it down here; it stays so as long as it is the same job
	created  int64
	settled  bool
	failures int // in a row
}

// step takes an input about the candidate, such as the answer to its operation.
func (c *candidate) step(s *State, in CandidateInput, p *plan) {
	switch in := in.(type) {
	case Touched:
		if !in.Members || c.missing || c.phase == trying { // a new member matters only if the module may be missing
			c.look(s, p)
		}
	case SessionEnded:
		c.lost = true
		c.look(s, p)
	case Looked:
		c.looked(s, in, p)
	case Fits:
		c.fits(s, p)
	case Refused:
		c.refused(s, in.Again, p)
	case Changed:
		c.changed(s, in, p)
	case Ended:
		c.shut, c.created = !in.Asked, 0 // which job was shut down, the next look shows
		c.settle(s, p)
		c.phase = resting
		c.look(s, p)
	case Hidden:
		c.hidden(s, p)
	}
}

// look requests a read of the definition, now or after the current operation. While the
// job runs, its runner follows the definition.
func (c *candidate) look(s *State, p *plan) {
	switch {
	case s.closed:
	case c.phase == running:
	case c.phase != resting:
		c.again = true
	case c.yields:
		c.hide(true, p)
	default:
		p.add(Look{Name: c.name, Anew: c.lost})
		c.phase, c.again, c.lost = looking, false, false
	}
}

// rest waits for a change, unless one has come already.
func (c *candidate) rest(s *State, p *plan) {
	if c.phase = resting; c.again || c.yields {
		c.look(s, p)
	}
}

// looked goes on with a definition that was read: it is tried if it is complete, unless an
// operator has shut this job down here. A candidate without a definition is hidden, and
// forgotten if the list does not have it either.
func (c *candidate) looked(s *State, in Looked, p *plan) {
	if in.Config && c.created != 0 && c.created != in.Created {
		c.shut = false // it is another job
	}
	switch none := !in.Config && !in.Module; {
	case s.closed, c.yields:
		c.rest(s, p)
	case none && !c.there:
		c.hide(true, p)
	case none:
		c.shut = false // should it come back, it is another job
		c.hide(false, p)
	case !in.Config, !in.Module: // undefined, or defined by ElasticJob only
		c.hide(false, p)
	case c.shut:
		c.phase, c.created = keepingShut, in.Created
		p.add(KeepShut{c.name})
	default:
		c.phase = trying
		p.add(Try{c.name})
	}
}

// fits starts the job, unless the server stops or its own file has the job now.
func (c *candidate) fits(s *State, p *plan) {
	if s.closed || c.yields {
		c.rest(s, p)
		return
	}
	// From now on its runner notices changes.
	c.phase, c.again, c.missing, c.failures = running, false, false, 0
	p.add(Start{c.name})
}

// refused lets the candidate wait: for a change, or with again at most for a pause that grows
// with each failure.
func (c *candidate) refused(s *State, again bool, p *plan) {
	c.settle(s, p)
	if c.missing = again; again && !s.closed { // the module may be what was missing
		c.failures++
		p.add(Retry{c.name, backoff.After(firstPause, lastPause, c.failures)})
	}
	c.rest(s, p)
}

// changed decides whether a running job goes on with its new definition.
func (c *candidate) changed(s *State, in Changed, p *plan) {
	switch {
	case c.phase != running: // it has ended meanwhile
	case in.Removed:
		p.add(Withdraw{Name: c.name, Removed: true})
	case in.Same:
	case len(in.Blockers) > 0:
		p.add(Withdraw{Name: c.name, Blockers: in.Blockers}) // the next look gives the reason
	case !s.closed:
		p.add(Prefetch{c.name})
	}
}

// yield ends the candidate, because the server's own file has the job now. A running job ends
// first.
func (c *candidate) yield(s *State, p *plan) {
	if c.yields = true; c.phase == running {
		p.add(Withdraw{Name: c.name})
	}
	c.look(s, p)
}

// hide has the job removed from what the server shows. With forget the candidate ends then.
func (c *candidate) hide(forget bool, p *plan) {
	if c.phase = hiding; forget {
		c.phase = forgetting
	}
	p.add(Hide{c.name, forget})
}

// hidden handles the answer to hide.
func (c *candidate) hidden(s *State, p *plan) {
	c.settle(s, p)
	if c.phase != forgetting {
		c.rest(s, p)
		return
	}
	delete(s.candidates, c.name)
	p.add(Gone{c.name})
	s.list(p) // it may have returned meanwhile
}

// settle says, the first time that it is known, that the job does not run for now.
func (c *candidate) settle(s *State, p *plan) {
	if !c.settled && !s.closed {
		c.settled = true
		p.add(Settled{c.name})
	}
}
