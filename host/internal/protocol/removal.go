package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// A tool removes a job node by node, children first, and gives up if a node that it is
// about to read disappears. So members create no node while a tool may be at work, and a
// member that has seen a removal does not repair what is left.

// RemovalPause is how long, in ms, a parent of the job's nodes must be missing before
// members create it again.
const RemovalPause = 3000

// seeRemoval notes when a parent of the job's nodes was first missing.
func (s *State) seeRemoval() {
	switch {
	case s.self == "" || s.view.stands() && s.view.Parents.Ours:
		s.session.nodesGoneSince = 0
	case s.session.nodesGoneSince == 0:
		s.session.nodesGoneSince = s.now
	}
}

// removing reports whether a tool may be removing the job: a parent has been missing for
// less than RemovalPause.
func (s *State) removing() bool {
	return s.session.nodesGoneSince != 0 && s.now < s.session.nodesGoneSince+RemovalPause
}

// removalOver is when a removal that may be under way counts as over; 0 if there is none.
func (s *State) removalOver() int64 {
	if !s.removing() {
		return 0
	}
	return s.session.nodesGoneSince + RemovalPause
}

// removed reports whether the job was removed while this server was a member, and nobody has
// made it again. Then this server must not define it.
func (s *State) removed() bool { return s.o.Removed && !s.view.stands() }

// seeNodesGone ends a member whose nodes were deleted, with the job or without, or whose
// Leave was applied after all. It also ends a member in the rest of a removed job.
func (s *State) seeNodesGone(p *Plan) bool {
	if s.self == "" || s.view.RecordFault != "" && !s.view.Rest || s.present() && s.own() != nil && !s.leavesRest() {
		return false
	}
	s.session.ended = true
	for k := range s.guests.all {
		s.cancel(s.guests.all[k].Item, true, reason.NodesRemoved, p)
	}
	p.add(Note{Why: reason.Of(reason.NodesRemoved)})
	p.add(Stop{Rejoin: !s.session.leaving || s.session.barred, Removed: true})
	return true
}
