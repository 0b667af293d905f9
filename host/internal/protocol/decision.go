package protocol

// facts is what a rule may look at. A rule does not change the State, so it can be read
// alone: what it does, and what is to be remembered, is in its Decision. Once a rule
// returns a mutation, the later ones are not asked, and note nothing.
type facts struct {
	*State
	Decision
	notes [4]note // memory for a rule's first Notes, which needs no allocation
}

// Decision is what a rule decides. Only Step carries it out.
type Decision struct {
	Mutation Mutation // nil: none
	Hold     int64    // when the rule must be asked again; 0: it need not be
	Effects  []Effect
	Backlog  *backlog // the new backlog; nil: unchanged
	Notes    []note

	used       *room // room that the mutation uses; nil: it is not counted
	recordFull int   // as of sizes
}

// note is a finding of a rule that the member remembers.
type note interface{ keep(*State, *Plan) }

func (d *Decision) add(e Effect) { d.Effects = append(d.Effects, e) }

// note adds a finding, which carryOut puts into the State.
func (d *Decision) note(n note) { d.Notes = append(d.Notes, n) }

// hold asks to ask the rule again at until.
func (d *Decision) hold(until int64) {
	if d.Hold == 0 || until < d.Hold {
		d.Hold = until
	}
}

// decide asks the rules in turn until one returns a mutation.
func (s *State) decide(p *Plan) {
	f := &facts{State: s}
	for _, r := range rules {
		if r.name == s.o.Without { // the simulator tests the program without this rule
			continue
		}
		f.Decision = Decision{Notes: f.notes[:0]}
		f.Mutation = r.decide(f)
		s.carryOut(&f.Decision, p)
		if f.Mutation != nil {
			return
		}
	}
}

// carryOut applies a rule's decision to the State. A mutation becomes the plan's commit, and
// is in flight from now on.
func (s *State) carryOut(d *Decision, p *Plan) {
	p.Effects = append(p.Effects, d.Effects...)
	if d.Hold != 0 {
		s.timers.hold(d.Hold)
	}
	if d.Backlog != nil {
		s.backlog = *d.Backlog
	}
	for _, n := range d.Notes {
		n.keep(s, p)
	}
	if d.recordFull != 0 {
		s.size.recordFull = d.recordFull
	}
	if d.Mutation == nil {
		return
	}
	s.commits.plans++
	p.ID, p.Commit = s.commits.plans, d.Mutation
	s.commits.flight = &flight{plan: p.ID, m: d.Mutation, view: s.view, room: d.used, tick: s.schedule.tick.At, ask: s.askOf(d.Mutation)}
}
