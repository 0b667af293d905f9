package golden

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
)

// The lines of docs/DIFFERENCES.md.
const (
	atOnce        = "reshard at once"
	inPlace       = "owners in place"
	pendingRun    = "pending run"
	takeAtOnce    = "take at once"
	onlyRunning   = "only what ran"
	failoverQueue = "failover queue"
	misfireMark   = "misfire mark"
	misfireRun    = "misfire run"
	misfireOff    = "misfire off"
	strayMark     = "stray mark"
	fireListeners = "listeners of fires"
	fewerWrites   = "fewer transactions"
	serverWord    = "server's node"
	leaderMarks   = "reshard mark"
	ackWithBegin  = "trigger and begin"
	reconnect     = "reconnect"
)

// line is a line of the page: what ElasticJob does, what wasmjobd does, and why. A
// difference that does not show in the states of a node has a function that finds it.
type line struct {
	key, theirs, here, why string

	seen func(t *testing.T, plays map[string]*play) bool
}

var lines = []line{
	{key: atOnce, theirs: "in the leader's next run", here: "when members or total change, as soon as no item that would move is open",
		why: "items of a dead member wait for a reshard, not for a fire"},
	{key: inPlace, theirs: "`processing`; each owner deleted; then all created in the transaction that ends it", here: "one transaction that sets the owners that differ, without `processing`",
		why: "nobody sees an item without owner, and no mark is needed for one transaction"},
	{key: pendingRun, theirs: "an empty node for each item to be taken over", here: "the same node has the run and its attempt",
		why: "ElasticJob reads only the node's name, and a taker of ours continues the same run"},
	{key: takeAtOnce, theirs: "take when their own run is over, one item at a time, the highest number first", here: "take beside their own runs, until all their slots are in use",
		why: "a pending run waits for a free slot, not for other items"},
	{key: onlyRunning, theirs: "run every item of a dead member again, even of an idle one, if another member has its address", here: "run only items again that were open, whichever members are left",
		why: "what had ended must not run again"},
	{key: failoverQueue, theirs: "sequential nodes below the failover latch", here: "no such nodes",
		why: "among members of ours the deletion of the pending run decides who takes it"},
	{key: misfireMark, theirs: "`misfire` is created when the run that outlasts an instant is over", here: "when the instant comes",
		why: "the next owner sees it even if this member dies during the run"},
	{key: misfireRun, theirs: "a missed instant is made good after the next ordinary run", here: "right after the run that outlasted it",
		why: "the wait for another ordinary run served nothing"},
	{key: misfireOff, theirs: "with misfire off, `misfire` is created all the same, and stays", here: "it is not created",
		why: "nobody would ever remove the mark"},
	{key: strayMark, theirs: "an item does not run while `running` is there, whoever holds it", here: "the leader removes a `running` that no session holds",
		why: "no other member would, and the item could not run"},
	{key: fireListeners, theirs: "each member makes `guarantee/started/{i}`, later `completed/{i}`, for its items and waits until all are there; a member that sees that calls its listener, sometimes two do", here: "the leader calls, and says so in `wasm/fires`",
		why: "no run waits for another server, and no listener is called twice"},
	{key: fewerWrites, theirs: "a write for each node, after a question whether the node exists", here: "a transaction for each step, which is refused if a node is not as expected",
		why: "nobody sees a state between two writes", seen: seenFewerWrites},
	{key: serverWord, theirs: "`servers/{ip}` is written at each start", here: "only if absent",
		why: "an operator's DISABLED survives a restart", seen: seenServerWord},
	{key: leaderMarks, theirs: "`necessary` by whichever member notices a change", here: "by the leader, when the assignment does not fit, and by each Join",
		why: "the leader looks at the assignment and not at events, so a missed event changes nothing", seen: seenLeaderMarks},
	{key: ackWithBegin, theirs: "`TRIGGER` is emptied, then the run begins", here: "both in one transaction",
		why: "no trigger is lost in between", seen: seenAckWithBegin},
	{key: reconnect, theirs: "after a lost connection `instances/{id}` is deleted and created again (so say its sources; no recording has it)", here: "nothing is written while the session lives",
		why: "other members would see a death", seen: seenReconnect},
}

// seenFewerWrites checks that ours write less in total, and more only in flows where they
// do more.
func seenFewerWrites(t *testing.T, plays map[string]*play) bool {
	t.Helper()
	count := func(log []entry) (n int) {
		for _, e := range log {
			if !e.end && len(e.touched) > 0 {
				n++
			}
		}
		return n
	}
	theirs, here := 0, 0
	for _, p := range plays {
		for _, s := range p.scenes {
			a, b := count(p.rec.entries(p.rec.flow(p.t, s.name))), count(s.log)
			if b > a && !slices.ContainsFunc(declared[p.rec.file+": "+s.name], func(r row) bool { return r.line == atOnce || r.line == strayMark }) {
				t.Errorf("%s: %s: %d transactions here, %d there", p.rec.file, s.name, b, a)
			}
			theirs, here = theirs+a, here+b
		}
	}
	t.Logf("%d transactions that others see, ElasticJob's %d", here, theirs)
	return here < theirs
}

// seenServerWord: there, three members with the same address wrote its node three times.
func seenServerWord(_ *testing.T, plays map[string]*play) bool {
	p := plays["failover_one_ip"]
	g := p.glances[0]
	for _, n := range p.rec.moment(p.t, g.name).Tree {
		if k, ok := nodeOf(p.rec.top, n.Path); ok && k.kind == serverOf("").kind {
			return n.Version == 2 && g.versions[k] == 0
		}
	}
	return false
}

// seenLeaderMarks: there, members that do not lead create marks. Here a member does when
// it joins, and otherwise the leader.
func seenLeaderMarks(_ *testing.T, plays map[string]*play) bool {
	mark, leader := kind("leader.sharding.necessary"), kind("leader.election.instance")
	followers := func(w world, log []entry) (n int) {
		for _, e := range log {
			joins := slices.ContainsFunc(e.touched, func(t touch) bool { return t.kind == instanceOf("").kind && t.exists })
			if e.by != "" && !joins && e.touches(mark) && !w[mark].exists && w[leader].data != e.by {
				n++
			}
			w = w.apply(e)
		}
		return n
	}
	theirs, here := 0, 0
	for _, p := range plays {
		for _, s := range p.scenes {
			f := p.rec.flow(p.t, s.name)
			theirs += followers(p.rec.before(f), p.rec.entries(f))
			here += followers(s.before, s.log)
		}
	}
	return theirs > 0 && here == 0
}

func seenAckWithBegin(_ *testing.T, plays map[string]*play) bool {
	together := func(log []entry) (yes, no int) {
		for _, e := range log {
			acks := slices.ContainsFunc(e.touched, func(t touch) bool { return t.kind == instanceOf("").kind && t.data == "" && e.by != "" })
			switch {
			case !acks:
			case slices.ContainsFunc(e.touched, func(t touch) bool { return t.kind == ofItem("running", "").kind && t.exists }):
				yes++
			default:
				no++
			}
		}
		return yes, no
	}
	p := plays["trigger"]
	for _, s := range p.scenes[:2] { // in the third one a request runs nothing
		yes, no := together(p.rec.entries(p.rec.flow(p.t, s.name)))
		if yes > 0 || no == 0 {
			return false
		}
		if yes, no = together(s.log); yes == 0 || no > 0 {
			return false
		}
	}
	return true
}

// seenReconnect: no recording has a reconnect, so only our side is checked.
func seenReconnect(t *testing.T, _ map[string]*play) bool {
	r := record(t, "basic")
	c := newCluster(t, r, []byte(r.config(t, r.Moments[0])), 100)
	c.at(1, func() { c.start("m1", r.Outputs["m1"].Instance) })
	c.at(2, func() { c.start("m2", r.Outputs["m2"].Instance) })
	c.until(100)
	wrote := len(c.log)
	m := c.member("m2")
	c.at(200, func() { m.mirror.Event(registry.Event{Kind: registry.Suspended}) })
	c.at(300, func() { m.mirror.Event(registry.Event{Kind: registry.Resumed}) })
	c.until(400)
	return wrote > 0 && len(c.log) == wrote && len(c.world()) > 0
}
