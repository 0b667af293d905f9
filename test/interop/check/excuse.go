package check

import (
	"fmt"
	"slices"
)

// Reason is the reason why an item did not run exactly once: ElasticJob caused it, or an
// event made it inevitable. The comment of each reason says which evidence it needs.
type Reason string

const (
	// Away: the event killed, froze or ended the owner, and its instance had just gone
	// or was still there; or there was no leader.
	Away Reason = "its owner was away"
	// Misfired: the Java owner prints that it misfired, which happens when it is one
	// millisecond late.
	Misfired Reason = "Quartz left the instant out"
	// Unready: the Java owner prints that it joined after the instant, and it fired
	// nothing before.
	Unready Reason = "its owner had no scheduler yet"
	// Recron: the configuration was written since the instant before.
	Recron Reason = "Quartz did not know the new cron yet"
	// Cached: just before the Java member looked, ElasticJob's leader gave it the item,
	// or a leader took the item from it; or the leader wrote the same owner again.
	Cached Reason = "ElasticJob went by its cache"
	// AssignedLate: ElasticJob's leader moved the item away from its member after the
	// instant; or it gave the member an item that had run, and the member ran it again.
	AssignedLate Reason = "ElasticJob assigned after the instant"
	// Late: a member of ours waited for marks and then assigned, and the Java member had
	// made none. An item that it lost has a row of ours; one that it got had ended on
	// another Java member.
	Late Reason = "ElasticJob looked when ours had assigned"
	// Unassigned: ElasticJob's leader did not make a reshard, and a row of ours says that
	// the instant did not run.
	Unassigned Reason = "ElasticJob had not assigned"
	// Running: the running mark was there when Quartz fired.
	Running Reason = "ElasticJob left out what still ran"
	// Taken: the failover mark was there when Quartz fired.
	Taken Reason = "ElasticJob left out what was taken over"
	// Round: the round belongs to no instant, and the member had taken an item over.
	Round Reason = "ElasticJob's failover ran a round more"
	// Woke: the process was frozen until just then, and a member of ours had begun before.
	Woke Reason = "a frozen process went on"
)

// Bounds of excuses, in milliseconds.
const (
	// cacheTime is how far ElasticJob's cache of the tree may lag behind.
	cacheTime = 500
	// seenTime is how long before an instant a reshard must be requested so that every
	// member sees the request by then.
	seenTime = 100
	// markTime is the least time by which our members delay a reshard after an instant,
	// so that ElasticJob's members can write their marks.
	markTime = 50
	// assignTime is how long a leader may take to assign after an owner has gone.
	assignTime = 2000
	// startTime is how long a member of ElasticJob may take between its instance and its
	// scheduler.
	startTime = 5000
	// busyTime is how long a round of ElasticJob may delay its Quartz.
	busyTime = 10_000
	// roundTime is how long after a take-over ElasticJob may run rounds for it.
	roundTime = 10_000
	// wakeTime is how long a process that woke may continue its runs.
	wakeTime = 2000
)

// Excuse is an item that did not run exactly once at an instant, with the evidence for
// the reason.
type Excuse struct {
	Reason   Reason
	Role     string
	Event    string
	Item     int
	At       int64
	Evidence string
}

// most returns how many items one reason may excuse in a span of the timeline: the items
// of four instants, and of every tenth instant. Away is bounded by time instead.
func most(s Span, ticks int) int { return s.Items * (4 + ticks/10) }

// missed returns the reason why an item did not run at an instant, or "" if there is no
// excuse.
func (k *checker) missed(s Span, item int, t int64) (Reason, string) {
	for _, m := range k.tree.moves(item, t-cacheTime, t+s.Every) {
		if why, evidence := k.moved(s, item, t, m); why != "" {
			return why, evidence
		}
	}
	owner := k.tree.named(item, t)
	if why, evidence := k.away(s, t, owner); why != "" {
		return why, evidence
	}
	if !k.java[address(owner)] {
		return k.unassigned(s, item, t)
	}
	if why, evidence := k.idle(s, address(owner), t); why != "" {
		return why, evidence
	}
	return k.left(item, t, address(owner))
}

// moved excuses an item that got another owner around the instant. A member of
// ElasticJob that got it may not have fired, or may have read the old owner from its
// cache. One that lost it to a member of ours may have looked too late, or its leader
// assigned too late.
func (k *checker) moved(s Span, item int, t int64, m move) (Reason, string) {
	from, to := address(m.from), address(m.to)
	assigned := fmt.Sprintf("%s gave it from %s to %s at %s", m.by, from, to, since(t, m.at))
	if k.java[to] {
		if why, evidence := k.idle(s, to, t); why != "" {
			return why, assigned + "; " + evidence
		}
		fired := k.fired(to, t)
		if fired.Word != "" && k.java[m.by] && m.at > fired.At-cacheTime {
			return Cached, fmt.Sprintf("%s; %s fired at %s", assigned, to, since(t, fired.At))
		}
		return "", ""
	}
	if fired := k.fired(from, t); fired.Word != "" && k.late(from, t, m) && k.gap(item, t) {
		return Late, fmt.Sprintf("%s; %s fired at %s, and had marked nothing", assigned, from, since(t, fired.At))
	}
	if asked, ok := k.tree.within(necessaryNode, false, t-seenTime, m.at); ok && k.java[from] && k.java[m.by] {
		return AssignedLate, fmt.Sprintf("a reshard was asked for at %s; %s", since(t, asked.At), assigned)
	}
	return "", ""
}

// late reports whether a member of ours assigned after it had waited for the marks of an
// instant, while the Java member had made none. A Java member makes all its marks after
// it has read its items.
func (k *checker) late(member string, instant int64, m move) bool {
	if k.java[m.by] || m.at <= instant+markTime {
		return false
	}
	for item := range k.items {
		for _, c := range k.tree.nodes[runningNode(item)] {
			if !c.Gone && c.At > instant && c.At <= m.at && k.tree.sessions[c.Session] == member {
				return false
			}
		}
	}
	return true
}

// idle excuses a member of ElasticJob that did not fire an instant: its scheduler says
// that it misfired, or had not started yet, or the cron had just changed.
func (k *checker) idle(s Span, member string, t int64) (Reason, string) {
	if k.fired(member, t).Word != "" {
		return "", ""
	}
	for _, line := range k.in.JavaLines {
		// If it left out several instants, it prints only the first one.
		if line.Word == "misfired" && line.Member == member && line.Instant <= t && t <= line.At && line.At <= line.Instant+busyTime {
			return Misfired, fmt.Sprintf("%s said at %s that it had left out %d and all until then", member, since(t, line.At), line.Instant)
		}
		if line.Word == "joined" && line.Member == member && line.At > t && line.At <= t+startTime && !k.firedWithin(member, t-startTime, line.At) {
			return Unready, fmt.Sprintf("%s joined at %s", member, since(t, line.At))
		}
	}
	if c, ok := k.tree.within(configNode, false, t-s.Every, t); ok && s.Also != 0 {
		return Recron, fmt.Sprintf("config was written at %s, and %s fired nothing", since(t, c.At), member)
	}
	return "", ""
}

// left excuses a member of ElasticJob that fired an instant but left the item out: the
// item was marked as running or taken over, or its owner's node was just written again.
func (k *checker) left(item int, t int64, member string) (Reason, string) {
	fired := k.fired(member, t)
	if fired.Word == "" {
		return "", ""
	}
	if c := k.tree.at(runningNode(item), fired.At); !c.Gone {
		return Running, fmt.Sprintf("%s fired at %s, and its mark was there since %s", member, since(t, fired.At), since(t, c.At))
	}
	if c := k.tree.at(failoverNode(item), fired.At); !c.Gone && k.java[k.tree.sessions[c.Session]] {
		return Taken, fmt.Sprintf("%s fired at %s, and %s had marked it at %s", member, since(t, fired.At), address(c.Data), since(t, c.At))
	}
	if c, ok := k.tree.within(ownerNode(item), false, fired.At-cacheTime, fired.At+cacheTime); ok && address(c.Data) == member && k.java[k.tree.sessions[c.Session]] {
		return Cached, fmt.Sprintf("%s fired at %s, and %s wrote its owner anew at %s", member, since(t, fired.At), k.tree.sessions[c.Session], since(t, c.At))
	}
	return "", ""
}

// away excuses an owner that was hit by the span's event.
func (k *checker) away(s Span, t int64, owner string) (Reason, string) {
	if owner == "" || address(owner) != s.Hit || s.Rule != Leave && s.Rule != Kill && s.Rule != Freeze {
		return "", ""
	}
	gone, ok := k.tree.within("instances/"+owner, true, s.From, k.in.To+s.Every)
	switch {
	case !ok:
		return "", ""
	case s.Rule == Leave && gone.At >= t+s.Every, s.Rule != Leave && gone.At > s.From+s.Every+k.in.Session+assignTime:
		return "", "" // it was there for too long
	case gone.At+assignTime >= t:
		return Away, fmt.Sprintf("the instance of %s went at %s", s.Hit, since(t, gone.At))
	}
	if led, ok := k.unled(t); ok {
		return Away, fmt.Sprintf("the instance of %s went at %s; %s", s.Hit, since(t, gone.At), led)
	}
	return "", ""
}

// unled reports whether no leader could assign at an instant: the leader's node was
// missing or new, or its instance had gone.
func (k *checker) unled(t int64) (string, bool) {
	l := k.tree.at(leaderNode, t)
	switch {
	case l.Gone:
		return "there was no leader", true
	case k.tree.at("instances/"+l.Data, t).Gone:
		return fmt.Sprintf("%s led and had gone", address(l.Data)), true
	case t-l.At < assignTime:
		return fmt.Sprintf("%s led since %s", address(l.Data), since(t, l.At)), true
	}
	return "", false
}

// unassigned excuses an item of ours that waits for ElasticJob's leader to assign it: a
// reshard was asked for early enough, that leader has not made it, and a row of ours
// says that the instant did not run.
func (k *checker) unassigned(s Span, item int, t int64) (Reason, string) {
	l := k.tree.at(leaderNode, t)
	asked := k.tree.at(necessaryNode, t+seenTime)
	if l.Gone || !k.java[address(l.Data)] || asked.Gone || !k.gap(item, t) {
		return "", ""
	}
	if _, assigned := k.tree.within(necessaryNode, true, asked.At, t+s.Every); assigned {
		return "", ""
	}
	return Unassigned, fmt.Sprintf("%s led, and a reshard that was asked for at %s was not made", address(l.Data), since(t, asked.At))
}

// twice returns the reason why a second run started for the same instant or before the
// first one ended.
func (k *checker) twice(a, b Run) (Reason, string) {
	for _, r := range []Run{a, b} {
		if why, evidence := k.woke(r); why != "" {
			return why, evidence
		}
	}
	// The second run is more likely the one too many.
	for _, r := range []Run{b, a} {
		if why, evidence := k.extra(r); why != "" {
			return why, evidence
		}
		if why, evidence := k.cached(r); why != "" {
			return why, evidence
		}
	}
	if !b.Java {
		return "", ""
	}
	for _, m := range k.tree.moves(b.Item, a.Start, b.Start) {
		switch {
		case address(m.from) != a.Member || address(m.to) != b.Member || a.End == 0:
		case a.Java && a.Instant == b.Instant && a.End <= m.at && k.late(b.Member, b.Instant, m):
			return Late, fmt.Sprintf("%s ran it until %d, and %s gave it to %s at %s, which had marked nothing", a.Member, a.End, m.by, b.Member, since(b.Instant, m.at))
		case k.java[m.by] && a.End <= m.at+cacheTime:
			return AssignedLate, fmt.Sprintf("%s ran it until %d, and %s gave it to %s at %s", a.Member, a.End, m.by, b.Member, since(a.End, m.at))
		}
	}
	return "", ""
}

// woke excuses a run of a process that was frozen. One of our runs had started before, or
// was marked without its guest having reached its first line.
func (k *checker) woke(r Run) (Reason, string) {
	for _, f := range k.in.Frozen {
		late := f.To
		if r.Java || k.markedIn(r, f) {
			late += wakeTime
		}
		if f.Member == r.Member && r.Start <= late && r.End >= f.From && r.End <= f.To+wakeTime {
			return Woke, fmt.Sprintf("%s was frozen until %s, and ended it %d ms later", r.Member, since(r.Start, f.To), r.End-f.To)
		}
	}
	return "", ""
}

// markedIn reports whether a run of ours was marked before its process was frozen.
func (k *checker) markedIn(r Run, f Frozen) bool {
	return slices.ContainsFunc(k.tree.nodes[runningNode(r.Item)], func(c Change) bool {
		return !c.Gone && k.tree.sessions[c.Session] == r.Member && r.Instant <= c.At && c.At <= f.From
	})
}

// extra excuses a run in a round that neither a cron nor an operator requested.
func (k *checker) extra(r Run) (Reason, string) {
	if !r.Java || r.Instant != 0 {
		return "", ""
	}
	for item := range k.items {
		for _, c := range k.tree.nodes[failoverNode(item)] {
			if !c.Gone && k.tree.sessions[c.Session] == r.Member && c.At <= r.Start && c.At > r.Start-roundTime {
				return Round, fmt.Sprintf("%s took item %d over at %s, and ran a round that no instant asked for", r.Member, item, since(r.Start, c.At))
			}
		}
	}
	return "", ""
}

// cached excuses a run of an item that a member of ElasticJob had just lost.
func (k *checker) cached(r Run) (Reason, string) {
	if !r.Java || address(k.tree.named(r.Item, r.Start)) == r.Member {
		return "", ""
	}
	for _, m := range k.tree.moves(r.Item, r.Start-cacheTime, r.Start) {
		if address(m.from) == r.Member {
			return Cached, fmt.Sprintf("%s lost it to %s at %s, and started it all the same", r.Member, address(m.to), since(r.Start, m.at))
		}
	}
	return "", ""
}

// fired returns the line in which the scheduler of a member of ElasticJob prints that it
// fired an instant.
func (k *checker) fired(member string, instant int64) JavaLine {
	i := slices.IndexFunc(k.in.JavaLines, func(t JavaLine) bool { return t.Word == "fired" && t.Member == member && t.Instant == instant })
	if i < 0 {
		return JavaLine{}
	}
	return k.in.JavaLines[i]
}

// firedWithin reports whether a member of ElasticJob fired any instant after from, up to
// to.
func (k *checker) firedWithin(member string, from, to int64) bool {
	return slices.ContainsFunc(k.in.JavaLines, func(t JavaLine) bool { return t.Word == "fired" && t.Member == member && t.At > from && t.At <= to })
}

// since formats the time from t to at.
func since(t, at int64) string { return fmt.Sprintf("%+d ms", at-t) }
