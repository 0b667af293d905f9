package protocol

import "slices"

// What members do because the leader, or one of those who run items, is foreign.

// assignsAtNextInstant: a leader of ElasticJob deals at the next instant, since the mark came
// when the one that is due had long begun.
func (s *State) assignsAtNextInstant() bool {
	v := s.view
	return s.company.foreignLeads && v.Necessary && !v.Processing && !s.triggered() && s.schedule.tick.At != 0 && s.reshard.since > s.schedule.tick.At+assignLag
}

// assignLag is until when, in ms after an instant, a leader of ElasticJob may still
// see a mark and deal before it begins.
const assignLag = 300

// ownerGone: an item has no owner that is there, and nobody deals just now.
func (s *State) ownerGone() bool {
	v := s.view
	for i := range v.total() {
		if !v.Processing && v.instance(v.item(i).Owner) == nil {
			return true
		}
	}
	return false
}

// memberLeftOut: there are items for everybody, and somebody has none. Who comes while
// a leader of ElasticJob deals is not dealt to, and the wish is taken away with the
// one that was answered. It is made again, but not for ever: there may be strategies
// that give somebody nothing.
func (s *State) memberLeftOut(wishes int) bool {
	v := s.view
	return !v.Processing && !v.unadopted() && wishes < mostWishes && v.someoneWithout()
}

// mostWishes for the same members. A leader of ElasticJob lists them, waits for what
// runs, and only then deals: so the first wish may go with a deal that had begun
// before it. The second one is made after that.
const mostWishes = 2

// leaderWaits: a leader of ElasticJob that was asked to assign waits until nothing
// runs. What has begun since is not begun again before that. What runs in its own
// process keeps it from looking, and nobody waits for that.
func (s *State) leaderWaits() bool {
	v, c := s.view, s.config()
	if c == nil || !c.MonitorExecution || !s.company.foreignLeads || !v.Necessary || s.reshard.since == 0 {
		return false
	}
	running := func(it Item) bool { return it.Running != 0 }
	own := func(it Item) bool { return running(it) && it.Owner == v.Leader }
	return slices.ContainsFunc(v.Items, running) && !slices.ContainsFunc(v.Items, own)
}

// tooEarly: right after an instant members of ElasticJob are about to mark what
// they run, item by item. If the reshard was asked for before, they wait for it.
func (s *facts) tooEarly() bool {
	v, t := s.view, s.schedule.latest.At
	until := t + startLag + int64(v.total())*startLagItem
	if !s.company.shared || t == 0 || s.reshard.since < t-beforehand || s.reshard.since >= until || s.now >= until {
		return false
	}
	s.hold(until)
	return true
}

// How long, in ms, members of ElasticJob take to mark what they begin: the first
// item, and each further one. It makes one node after the other.
const (
	startLag     = 50
	startLagItem = 2
	beforehand   = 100 // its clock may be ahead
)
