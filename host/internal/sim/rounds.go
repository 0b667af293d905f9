package sim

import (
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// The promise to members of ElasticJob that wait for one another in rounds: members of ours create
// their nodes, and end no round before those members have seen theirs.

// theirRounds is what the ledger knows of rounds, by the node of a round or by those in it.
type theirRounds struct {
	parts       map[string]part
	deleted     map[string]part  // nodes of a round that is there
	roundsOver  map[string]part  // the newest round's end
	roundsBegan map[string]int64 // when the newest round began
	javaStarted int64            // when a process of ElasticJob started last
}

// part is what a member did last: it began an item or ended it, or it deleted a node.
type part struct {
	by    *member // nil: it is not ours
	life  int
	at    int64
	rev   int64
	began int64 // of the end of a round: when that round began
}

func newTheirRounds() theirRounds {
	return theirRounds{parts: map[string]part{}, deleted: map[string]part{}, roundsOver: map[string]part{}, roundsBegan: map[string]int64{}}
}

// inRounds follows a transaction's part in rounds.
func (l *ledger) inRounds(old *protocol.View, by origin) {
	did := part{by: by.member, at: l.w.now, rev: l.w.tree.Revision()}
	if by.member != nil {
		did.life = by.member.life
	}
	l.follow(l.w.nodes.started, old.Guarantee.Started, l.v.Guarantee.Started, did)
	l.follow(l.w.nodes.completed, old.Guarantee.Completed, l.v.Guarantee.Completed, did)
	if by.member == nil {
		return
	}
	note := func(root string, items []int) {
		for _, i := range items {
			l.parts[inRound(root, i)] = did
		}
	}
	switch m := by.m.(type) {
	case protocol.Begin:
		note(l.w.nodes.started, m.Begun)
	case protocol.Take:
		note(l.w.nodes.started, m.Items)
	case protocol.Complete:
		note(l.w.nodes.completed, m.Items)
	case protocol.JoinRound:
		l.joins(m, by)
	default:
	}
}

// inRound returns the path of the item's node in a round.
func inRound(root string, i int) string { return root + "/" + strconv.Itoa(i) }

// follow notes when a round begins and ends, and which nodes of it a transaction has
// deleted. A round with another creation is another round.
func (l *ledger) follow(root string, was, now protocol.Round, did part) {
	if was.Exists && was.Created != now.Created {
		did.began = l.roundsBegan[root]
		l.roundsOver[root] = did
	}
	if now.Exists && was.Created != now.Created {
		l.roundsBegan[root] = l.w.now
	}
	for _, i := range was.Items {
		if node := inRound(root, i); was.Created != now.Created {
			delete(l.deleted, node)
		} else if !slices.Contains(now.Items, i) {
			l.deleted[node] = did
		}
	}
	if was.Created != now.Created {
		maps.DeleteFunc(l.deleted, func(node string, _ part) bool { return path.Dir(node) == root })
	}
}

// joins checks that no member of ours creates again a node that it saw deleted: the
// round is over. After a few seconds it may, since the member that deletes a round may
// have died.
func (l *ledger) joins(m protocol.JoinRound, by origin) {
	root := l.w.nodes.completed
	if m.Event == protocol.FireStarted {
		root = l.w.nodes.started
	}
	for _, i := range m.Items {
		if d := l.deleted[inRound(root, i)]; d.at > l.w.now-3*second && d.rev <= by.view.Rev {
			l.w.breach("rounds", "%s: the node of item %d was deleted, so the round is over", by, i)
		}
	}
}

// waitedInVain checks a wait that lasted to its time-out: no member of ours that has
// begun, or ended, an item may lack the node. before is when the wait began; unrest,
// when something last disturbed the cluster.
func (l *ledger) waitedInVain(j *jvm, root string, before, unrest int64) {
	if !l.w.calm || unrest > before-second || l.v == nil || l.v.Config == nil || l.thinned(root) {
		return
	}
	for i := range l.v.Config.Total {
		node := inRound(root, i)
		p := l.parts[node]
		if p.by == nil || l.w.tree.Get(node).Exists || p.at < max(before-second, l.roundsOver[root].at) || p.at > l.w.now-upkeep || !p.by.up || p.by.life != p.life {
			continue
		}
		l.w.breach("rounds", "%s waited in vain until all have %s: %s has no node for item %d", j.name(), path.Base(root), p.by.name(), i)
	}
}

// thinned reports whether a round has lost nodes a short time ago. Members of ours create none then,
// for who deletes them may go on: if it has died, they do so some seconds later.
func (l *ledger) thinned(root string) bool {
	for node, d := range l.deleted {
		if path.Dir(node) == root && d.at > l.w.now-5*second-upkeep {
			return true
		}
	}
	return false
}

// stuckInRound checks that no member of ours ended the round in which a member looks for its nodes.
// A round that is older than a process may be full of nodes that the process before has left.
func (l *ledger) stuckInRound(j *jvm, root string) {
	if over := l.roundsOver[root]; l.w.calm && over.by != nil && over.at > l.w.now-second && over.began > l.javaStarted {
		l.w.breach("rounds", "%s does not see its own nodes: a member of ours has ended the round %s", j.name(), path.Base(root))
	}
}
