package judge

import (
	"fmt"
	"slices"
)

// Reason says what ElasticJob did of its own, or what an event made inevitable,
// when an item did not run once. The comment of each is the evidence that it needs.
type Reason string

const (
	// Away: the event killed, froze or ended the owner, and its instance had just gone
	// or not yet; or nobody led.
	Away Reason = "its owner was away"
	// Misfired: the Java owner prints that it misfired, as it does when it is a
	// millisecond late.
	Misfired Reason = "Quartz left the instant out"
	// Unready: the Java owner prints that it joined after the instant, and had fired
	// nothing before.
	Unready Reason = "its owner had no scheduler yet"
	// Recron: the configuration was written since the instant before.
	Recron Reason = "Quartz did not know the new cron yet"
	// Cached: ElasticJob's leader had given the item to the Java member, or somebody had
	// taken it from that member, just before the member looked; or the leader had
	// written the same owner again.
	Cached Reason = "ElasticJob went by its cache"
	// DealtLate: ElasticJob's leader moved the item away from its member, and nobody
	// could know before; or gave what had run to its member, which ran it again.
	DealtLate Reason = "ElasticJob assigned after the instant"
	// Late: one of ours had waited for marks and assigned, and the Java member had made
	// none. What it lost has a row of ours; what it got had ended on another Java
	// member.
	Late Reason = "ElasticJob looked when ours had assigned"
	// Undealt: ElasticJob's leader left a reshard undone, and ours has a row about it.
	Undealt Reason = "ElasticJob had not assigned"
	// Running: the running mark was there when Quartz fired.
	Running Reason = "ElasticJob left out what still ran"
	// Taken: the failover mark was there when Quartz fired.
	Taken Reason = "ElasticJob left out what was taken over"
	// Round: no instant asked for the round, and the member had taken something over.
	Round Reason = "ElasticJob's failover ran a round more"
	// Woke: the process was frozen until just then, and one of ours had begun before.
	Woke Reason = "a frozen process went on"
)

// Bounds of what is excused, in milliseconds.
const (
	// cacheTime is by how much ElasticJob's copy of the tree may lag behind.
	cacheTime = 500
	// seenTime is how long before an instant a reshard must be asked for so that
	// everybody sees it when the instant comes.
	seenTime = 100
	// markTime is how long after an instant ours wait with a reshard at least, for
	// marks of members of ElasticJob.
	markTime = 50
	// dealTime is how long a leader may take to deal after an owner has gone.
	dealTime = 2000
	// startTime is how long a member of ElasticJob may take from its instance to
	// its scheduler.
	startTime = 5000
	// busyTime is how long a round of ElasticJob may hold up its Quartz.
	busyTime = 10_000
	// roundTime is how long after a take-over ElasticJob may run rounds for it.
	roundTime = 10_000
	// wakeTime is how long after its waking a process may go on with what it was at.
	wakeTime = 2000
)

// Excuse is an item at an instant, and the evidence why it did not run once.
type Excuse struct {
	Reason   Reason
	Role     string
	Event    string
	Item     int
	At       int64
	Evidence string
}

// most is how many items one reason may excuse in a span of the timeline: those
// of four instants, and of one in ten beyond. Away has its time instead.
func most(s Span, ticks int) int { return s.Items * (4 + ticks/10) }

// missed finds out why an item did not run at an instant; empty: nothing excuses
// it.
func (j *judge) missed(s Span, item int, t int64) (Reason, string) {
	for _, m := range j.tree.moves(item, t-cacheTime, t+s.Every) {
		if why, evidence := j.moved(s, item, t, m); why != "" {
			return why, evidence
		}
	}
	owner := j.tree.named(item, t)
	if why, evidence := j.away(s, t, owner); why != "" {
		return why, evidence
	}
	if !j.java[address(owner)] {
		return j.undealt(s, item, t)
	}
	if why, evidence := j.idle(s, address(owner), t); why != "" {
		return why, evidence
	}
	return j.left(item, t, address(owner))
}

// moved is for an item that got another owner around the instant.
func (j *judge) moved(s Span, item int, t int64, m move) (Reason, string) {
	from, to := address(m.from), address(m.to)
	dealt := fmt.Sprintf("%s gave it from %s to %s at %s", m.by, from, to, since(t, m.at))
	if j.java[to] {
		if why, evidence := j.idle(s, to, t); why != "" {
			return why, dealt + "; " + evidence
		}
		fired := j.fired(to, t)
		if fired.Word != "" && j.java[m.by] && m.at > fired.At-cacheTime {
			return Cached, fmt.Sprintf("%s; %s fired at %s", dealt, to, since(t, fired.At))
		}
		return "", ""
	}
	if fired := j.fired(from, t); fired.Word != "" && j.late(from, t, m) && j.gap(item, t) {
		return Late, fmt.Sprintf("%s; %s fired at %s, and had marked nothing", dealt, from, since(t, fired.At))
	}
	if asked, ok := j.tree.within(necessaryNode, false, t-seenTime, m.at); ok && j.java[from] && j.java[m.by] {
		return DealtLate, fmt.Sprintf("a reshard was asked for at %s; %s", since(t, asked.At), dealt)
	}
	return "", ""
}

// late tells whether one of ours dealt after its wait for marks of an instant, and
// a member of ElasticJob, which makes all of its own when it has looked, had made
// none.
func (j *judge) late(member string, instant int64, m move) bool {
	if j.java[m.by] || m.at <= instant+markTime {
		return false
	}
	for item := range j.items {
		for _, c := range j.tree.nodes[runningNode(item)] {
			if !c.Gone && c.At > instant && c.At <= m.at && j.tree.sessions[c.Session] == member {
				return false
			}
		}
	}
	return true
}

// idle is for a member of ElasticJob that did not fire an instant.
func (j *judge) idle(s Span, member string, t int64) (Reason, string) {
	if j.fired(member, t).Word != "" {
		return "", ""
	}
	for _, told := range j.in.Told {
		// Of several instants that came meanwhile it says the first alone.
		if told.Word == "misfired" && told.Member == member && told.Instant <= t && t <= told.At && told.At <= told.Instant+busyTime {
			return Misfired, fmt.Sprintf("%s said at %s that it had left out %d and all until then", member, since(t, told.At), told.Instant)
		}
		if told.Word == "joined" && told.Member == member && told.At > t && told.At <= t+startTime && !j.firedWithin(member, t-startTime, told.At) {
			return Unready, fmt.Sprintf("%s joined at %s", member, since(t, told.At))
		}
	}
	if c, ok := j.tree.within(configNode, false, t-s.Every, t); ok && s.Also != 0 {
		return Recron, fmt.Sprintf("config was written at %s, and %s fired nothing", since(t, c.At), member)
	}
	return "", ""
}

// left is for a member of ElasticJob that fired an instant and left the item out.
func (j *judge) left(item int, t int64, member string) (Reason, string) {
	fired := j.fired(member, t)
	if fired.Word == "" {
		return "", ""
	}
	if c := j.tree.at(runningNode(item), fired.At); !c.Gone {
		return Running, fmt.Sprintf("%s fired at %s, and its mark was there since %s", member, since(t, fired.At), since(t, c.At))
	}
	if c := j.tree.at(failoverNode(item), fired.At); !c.Gone && j.java[j.tree.sessions[c.Session]] {
		return Taken, fmt.Sprintf("%s fired at %s, and %s had marked it at %s", member, since(t, fired.At), address(c.Data), since(t, c.At))
	}
	if c, ok := j.tree.within(ownerNode(item), false, fired.At-cacheTime, fired.At+cacheTime); ok && address(c.Data) == member && j.java[j.tree.sessions[c.Session]] {
		return Cached, fmt.Sprintf("%s fired at %s, and %s wrote its owner anew at %s", member, since(t, fired.At), j.tree.sessions[c.Session], since(t, c.At))
	}
	return "", ""
}

// away is for an owner to which the span's event happened.
func (j *judge) away(s Span, t int64, owner string) (Reason, string) {
	if owner == "" || address(owner) != s.Hit || s.Rule != Leave && s.Rule != Kill && s.Rule != Freeze {
		return "", ""
	}
	gone, ok := j.tree.within("instances/"+owner, true, s.From, j.in.To+s.Every)
	switch {
	case !ok:
		return "", ""
	case s.Rule == Leave && gone.At >= t+s.Every, s.Rule != Leave && gone.At > s.From+s.Every+j.in.Session+dealTime:
		return "", "" // it was there for too long
	case gone.At+dealTime >= t:
		return Away, fmt.Sprintf("the instance of %s went at %s", s.Hit, since(t, gone.At))
	}
	if led, ok := j.unled(t); ok {
		return Away, fmt.Sprintf("the instance of %s went at %s; %s", s.Hit, since(t, gone.At), led)
	}
	return "", ""
}

// unled tells whether nobody led an instant who could deal: the leader's node was
// not there, or not for long, or its instance had gone.
func (j *judge) unled(t int64) (string, bool) {
	l := j.tree.at(leaderNode, t)
	switch {
	case l.Gone:
		return "nobody led", true
	case j.tree.at("instances/"+l.Data, t).Gone:
		return fmt.Sprintf("%s led and had gone", address(l.Data)), true
	case t-l.At < dealTime:
		return fmt.Sprintf("%s led since %s", address(l.Data), since(t, l.At)), true
	}
	return "", false
}

// undealt is for an item of ours that waits for a deal of ElasticJob's leader.
func (j *judge) undealt(s Span, item int, t int64) (Reason, string) {
	l := j.tree.at(leaderNode, t)
	asked := j.tree.at(necessaryNode, t+seenTime)
	if l.Gone || !j.java[address(l.Data)] || asked.Gone || !j.gap(item, t) {
		return "", ""
	}
	if _, dealt := j.tree.within(necessaryNode, true, asked.At, t+s.Every); dealt {
		return "", ""
	}
	return Undealt, fmt.Sprintf("%s led, and a reshard that was asked for at %s was not made", address(l.Data), since(t, asked.At))
}

// twice finds out why a run started besides another one, in the same instant or
// before that one's end.
func (j *judge) twice(a, b Run) (Reason, string) {
	for _, r := range []Run{a, b} {
		if why, evidence := j.woke(r); why != "" {
			return why, evidence
		}
	}
	for _, r := range []Run{b, a} {
		if why, evidence := j.extra(r); why != "" {
			return why, evidence
		}
		if why, evidence := j.cached(r); why != "" {
			return why, evidence
		}
	}
	if !b.Java {
		return "", ""
	}
	for _, m := range j.tree.moves(b.Item, a.Start, b.Start) {
		switch {
		case address(m.from) != a.Member || address(m.to) != b.Member || a.End == 0:
		case a.Java && a.Instant == b.Instant && a.End <= m.at && j.late(b.Member, b.Instant, m):
			return Late, fmt.Sprintf("%s ran it until %d, and %s gave it to %s at %s, which had marked nothing", a.Member, a.End, m.by, b.Member, since(b.Instant, m.at))
		case j.java[m.by] && a.End <= m.at+cacheTime:
			return DealtLate, fmt.Sprintf("%s ran it until %d, and %s gave it to %s at %s", a.Member, a.End, m.by, b.Member, since(a.End, m.at))
		}
	}
	return "", ""
}

// woke is for a run of a process that was frozen. One of ours had started before.
func (j *judge) woke(r Run) (Reason, string) {
	for _, f := range j.in.Frozen {
		late := f.To
		if r.Java {
			late += wakeTime
		}
		if f.Member == r.Member && r.Start <= late && r.End >= f.From && r.End <= f.To+wakeTime {
			return Woke, fmt.Sprintf("%s was frozen until %s, and ended it %d ms later", r.Member, since(r.Start, f.To), r.End-f.To)
		}
	}
	return "", ""
}

// extra is for a run in a round that nobody's cron and no operator has asked for.
func (j *judge) extra(r Run) (Reason, string) {
	if !r.Java || r.Instant != 0 {
		return "", ""
	}
	for item := range j.items {
		for _, c := range j.tree.nodes[failoverNode(item)] {
			if !c.Gone && j.tree.sessions[c.Session] == r.Member && c.At <= r.Start && c.At > r.Start-roundTime {
				return Round, fmt.Sprintf("%s took item %d over at %s, and ran a round that no instant asked for", r.Member, item, since(r.Start, c.At))
			}
		}
	}
	return "", ""
}

// cached is for a run of an item that a member of ElasticJob had lost just then.
func (j *judge) cached(r Run) (Reason, string) {
	if !r.Java || address(j.tree.named(r.Item, r.Start)) == r.Member {
		return "", ""
	}
	for _, m := range j.tree.moves(r.Item, r.Start-cacheTime, r.Start) {
		if address(m.from) == r.Member {
			return Cached, fmt.Sprintf("%s lost it to %s at %s, and started it all the same", r.Member, address(m.to), since(r.Start, m.at))
		}
	}
	return "", ""
}

// fired is the line in which the scheduler of a member of ElasticJob says that it
// fired an instant.
func (j *judge) fired(member string, instant int64) Told {
	i := slices.IndexFunc(j.in.Told, func(t Told) bool { return t.Word == "fired" && t.Member == member && t.Instant == instant })
	if i < 0 {
		return Told{}
	}
	return j.in.Told[i]
}

func (j *judge) firedWithin(member string, from, to int64) bool {
	return slices.ContainsFunc(j.in.Told, func(t Told) bool { return t.Word == "fired" && t.Member == member && t.At > from && t.At <= to })
}

// since says how long after a time another one is.
func since(t, at int64) string { return fmt.Sprintf("%+d ms", at-t) }
