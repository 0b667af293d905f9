package interop

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/interop/check"
)

// Jobs whose items say how long they work. Items are assigned to members in descending
// order of addresses, so our servers have the first ones.
var (
	overdueJava = definition{cron: "0/6 * * * * ?", every: 6 * time.Second, items: 2, params: "0=100,1=7500", misfire: true}
	overdueOurs = definition{cron: "0/6 * * * * ?", every: 6 * time.Second, items: 2, params: "0=7500,1=100", misfire: true}
	marksJava   = definition{cron: never, items: 2, params: "0=100,1=6000", failover: true}
	marksPair   = definition{cron: never, items: 3, params: "0=100,1=9000,2=9000", failover: true}
	marksTaken  = definition{cron: "0/15 * * * * ?", every: 15 * time.Second, items: 4, params: "0=4000,1=4000,2=4000,3=4000", failover: true, session: 9 * time.Second}
	marksOurs   = definition{cron: never, items: 3, params: "0=9000,1=12000,2=7000", failover: true, ours: usualOurs + "parallel = 1\n"}
)

// ran waits for a run of an item by a member that started after a time.
func (c *cluster) ran(item int, by *member, after int64) check.Run {
	c.Helper()
	var found check.Run
	c.await(fmt.Sprintf("%s to run item %d", by.ip, item), func() bool {
		for _, r := range c.runs() {
			if r.Item == item && r.Member == by.ip && r.Start > after {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

// gone waits until a node does not exist.
func (c *cluster) gone(below string) {
	c.Helper()
	c.await("the end of "+below, func() bool { return !c.node(below).Exists })
}

// pair starts a leading server of ours and a member of ElasticJob, or with javaLeads the
// other way round, and waits until both have items.
func (c *cluster) pair(javaLeads bool) (java, ours *member) {
	c.Helper()
	java, ours = c.place(javaA, true), c.place(oursA, false)
	first, second := ours, java
	if javaLeads {
		first, second = java, ours
	}
	first.start()
	c.await("a leader", func() bool { return c.leader() == first })
	second.start()
	c.await("two members", func() bool { return len(c.node("instances").Children) == 2 })
	return java, ours
}

// misfireOfJava: an instant came while ElasticJob ran the item, and its member left
// before it ran the item again for that instant.
func misfireOfJava(c *cluster) {
	java, ours := c.pair(false)
	var run check.Run
	c.await("its mark", func() bool {
		for _, r := range c.runs() {
			if r.Item == 1 && r.Member == java.ip {
				run = r
			}
		}
		n := c.node("sharding/1/misfire")
		return n.Exists && run.End != 0 && n.Stat.ModifiedAt.UnixMilli() >= run.End
	})
	c.pass(1500 * time.Millisecond) // a run that ends just before its member leaves no trace
	java.stop()
	again := c.ran(1, ours, run.End)
	c.gone("sharding/1/misfire")
	for _, r := range c.runs() { // the item may have begun again before its member left
		if r.Item == 1 && r.Member == java.ip && r.End > run.End {
			run = r
		}
	}
	c.check("wasmjobd honours Java's misfire", again.Instant <= run.End, "item 1 ran for %d, not for an instant before ElasticJob ended it, at %d", again.Instant, run.End)
}

// misfireOfOurs is the same scenario with the two kinds of members exchanged.
func misfireOfOurs(c *cluster) {
	java, ours := c.pair(true)
	run := c.ran(0, ours, 0)
	c.await("its mark", func() bool { return c.node("sharding/0/misfire").Exists })
	c.set("params=0=100,1=100")
	ours.stop()
	marked := c.node("sharding/0/misfire").Exists
	first := c.ran(0, java, run.Start)
	second := c.ran(0, java, first.Start)
	c.gone("sharding/0/misfire")
	c.check("Java honours wasmjobd's misfire", marked && second.Instant == first.Instant, "marked: %v; item 0 ran for %d and %d", marked, first.Instant, second.Instant)
}

// triggered requests a run of all items and waits until the runs of some members have
// started.
func (c *cluster) triggered(members ...*member) (at int64) {
	c.Helper()
	at = time.Now().UnixMilli()
	c.java("trigger")
	for _, m := range members {
		c.await(m.ip+" to run something", func() bool {
			for _, r := range c.runs() {
				if r.Member == m.ip && r.Start >= at {
					return true
				}
			}
			return false
		})
	}
	return at
}

// deathOfJava: a member of ElasticJob dies and leaves a run behind, while there is
// neither a leader nor another member.
func deathOfJava(c *cluster) {
	java, ours := c.pair(false)
	at := c.triggered(java, ours)
	java.kill()
	died := time.Now().UnixMilli()
	r := c.ran(1, ours, at)
	took := time.Duration(r.Start-died) * time.Millisecond
	c.check("wasmjobd takes over from Java", took < c.job.session+3*time.Second, "it took %v", took)
	c.Logf("%v after the death", took)
}

// deathOfTaker: a member of 3.0.4 dies in a run that it has taken over, and an instant comes
// before its session has ended. The leader of ElasticJob has to assign the items anew, and
// waits for the running mark, which nobody of ElasticJob deletes then. When the session has
// ended, the leader takes the run, which it can begin only after that wait.
func deathOfTaker(c *cluster) {
	leader := c.javaMember(javaA)
	c.await("a leader", func() bool { return c.leader() == leader })
	first, second, ours := c.javaMember(javaB), c.javaMember(javaC), c.ours(oursA)
	open := func(m *member) bool {
		return slices.ContainsFunc(c.runs(), func(r check.Run) bool { return r.Member == m.ip && r.End == 0 })
	}
	c.await("each to run an item", func() bool { return open(leader) && open(first) && open(second) && open(ours) })
	item := 0
	for !strings.HasPrefix(string(c.node(fmt.Sprintf("sharding/%d/instance", item)).Data), first.ip+"@") {
		item++
	}
	first.kill()
	c.await("the others to be idle", func() bool { return !open(leader) && !open(second) && !open(ours) })
	leader.signal(syscall.SIGSTOP) // so the other one takes the run
	taken := c.ran(item, second, time.Now().UnixMilli())
	leader.signal(syscall.SIGCONT)
	second.kill()
	killed := time.Now().UnixMilli()
	again := c.ran(item, leader, taken.Start)
	took := time.Duration(again.Start-killed) * time.Millisecond
	cleared, mine := false, map[int64]bool{} // sessions of our server
	for _, ch := range c.changes() {
		if strings.HasPrefix(ch.Path, "instances/"+ours.ip+"@") {
			mine[ch.Session] = true
		}
		cleared = cleared || ch.Path == fmt.Sprintf("sharding/%d/running", item) && ch.Gone && ch.At > killed && mine[ch.Session]
	}
	c.check("wasmjobd clears the mark of a dead taker", cleared && c.leader() == leader, "item %d ran again %v after its taker was killed, and nobody of ours deleted its mark, or %s leads", item, took, c.role())
	c.Logf("%v after the death", took)
}

// sleepingTaker: the same as deathOfJava, while a frozen client with ElasticJob's own recipe holds the
// failover latch.
func sleepingTaker(c *cluster) {
	java, ours := c.pair(false)
	holder := ours.holder(c.path("leader/failover/latch"))
	at := c.triggered(java, ours)
	if err := holder.Process.Signal(syscall.SIGSTOP); err != nil {
		c.Fatal(err)
	}
	slept := time.Now().UnixMilli()
	java.kill()
	r := c.ran(1, ours, at)
	took := time.Duration(r.Start-slept) * time.Millisecond
	c.check("the run is taken when the holder's session has ended", took < 2*c.job.session+4*time.Second, "it took %v", took)
	c.Logf("%v after the death", took)
}

// pendingOfJava: a member of ElasticJob marks the runs of its dead neighbour while it is
// busy itself.
func pendingOfJava(c *cluster) {
	ours := c.ours(oursA)
	c.await("a leader", func() bool { return c.leader() == ours })
	one, other := c.javaMember(javaA), c.javaMember(javaA)
	c.await("three members", func() bool { return len(c.node("instances").Children) == 3 })
	at := c.triggered(ours)
	c.await("all to run", func() bool { return len(c.since(at)) == 3 })
	lost := string(c.node("sharding/1/instance").Data)
	item := 1
	if lost != javaA+"@-@"+strconv.Itoa(other.running.cmd.Process.Pid) {
		item = 2
	}
	other.kill()
	r := c.ran(item, ours, at)
	byJava := false
	for _, t := range c.zk.Log() {
		for _, ch := range t.Changes {
			if ch.Kind == zktest.Created && ch.Path == c.path(fmt.Sprintf("leader/failover/items/%d", item)) && len(ch.Data) == 0 {
				byJava = true
			}
		}
	}
	c.check("wasmjobd takes what Java marked", byJava && one.up(), "item %d ran at %d; marked by Java: %v", item, r.Start, byJava)
}

// since returns the runs that started at a time or later.
func (c *cluster) since(at int64) []check.Run {
	c.Helper()
	var some []check.Run
	for _, r := range c.runs() {
		if r.Start >= at {
			some = append(some, r)
		}
	}
	return some
}

// deathOfOurs: the runs of a dead server of ours are marked by another one that is busy,
// and taken over by a member of ElasticJob when its own runs have ended.
func deathOfOurs(c *cluster) {
	java, ours := c.pair(false)
	dead := c.ours(oursB)
	c.await("three members", func() bool { return len(c.node("instances").Children) == 3 })
	at := c.triggered(java, ours, dead)
	dead.signal(syscall.SIGKILL)
	dead.running.asked = true
	r := c.ran(0, java, at)
	c.gone("leader/failover/items/0")
	twice := 0
	for _, r := range c.since(at) {
		if r.Item == 0 && r.Member == ours.ip {
			twice++
		}
	}
	c.check("Java takes over from wasmjobd", twice == 0, "item 0 ran on Java at %d, and %d times on %s", r.Start, twice, ours.ip)
}

// failovers: with failover on, a run whose member dies ends on another one. ElasticJob
// may repeat a run that had ended.
func failovers(c *cluster, javaLeads bool) {
	java, ours := c.pair(javaLeads)
	// A member that joins while ElasticJob's leader assigns the items gets none.
	c.before(c.job.every - 2*time.Second)
	all := []*member{java, ours, c.javaMember(javaB), c.ours(oursB)}
	c.begin(all...)
	for _, m := range all[2:] {
		c.await("its items to run", func() bool {
			now := time.Now().UnixMilli()
			return slices.ContainsFunc(c.runs(), func(r check.Run) bool { return r.Member == m.ip && r.End == 0 && r.Start > now-300 })
		})
		c.event(m.kind()+" is killed in execution", check.Kill, m)
		m.kill()
		c.settle(c.present(), m)
		c.check("its runs come to their ends", len(c.unended(m)) == 0, "items %v", c.unended(m))
		c.joins(m)
	}
}

// unended returns the items that a member ran when it died in the newest event, and that
// no member ran to the end before the next instant.
func (c *cluster) unended(m *member) []int {
	c.Helper()
	died := c.spans[len(c.spans)-2].From // before what is steady again
	next := died + c.job.every.Milliseconds()
	open := map[int]bool{}
	for _, r := range c.since(died) {
		switch {
		case r.Start >= next:
		case r.Member == m.ip && r.End == 0:
			open[r.Item] = true
		case r.End != 0 && r.End < next+c.job.work.Milliseconds():
			delete(open, r.Item)
		}
	}
	return slices.Sorted(maps.Keys(open))
}

// listeners: members of ElasticJob with a listener that is called once for all wait until
// every item has its mark, including the items of our servers.
func listeners(c *cluster) {
	java := c.javaMember(javaA)
	c.begin(java)
	c.called("Java's listener is called", 0)
	ours := c.joins(c.place(oursA, false))
	c.steady(5)
	c.mustRun(java, ours)
}

// listenersOfTwo: two of these members also wait for each other, together with one of our
// servers, under a leader of either kind.
func listenersOfTwo(c *cluster) {
	first, second := c.javaMember(javaA), c.javaMember(javaB)
	c.begin(first, second)
	ours := c.joins(c.place(oursA, false))
	joined := time.Now().UnixMilli()
	c.steady(3)
	c.called("a listener of two is called", joined)
	c.leaves(first)
	c.leaves(second)
	c.joins(first)
	c.joins(second)
	joined = time.Now().UnixMilli()
	c.steady(3)
	c.called("a listener of two is called", joined)
	c.mustRun(first, second, ours)
}

// called checks that the listeners of ElasticJob's members were called in each round that
// one of them ended after a time. The last member of a round ends it and calls its own
// listener. ZooKeeper's log shows which member that was; it may be one of ours.
func (c *cluster) called(what string, after int64) {
	c.Helper()
	log := c.changes()
	_, lines := c.output() // later than the log: a call comes before the end of its round
	sessions := map[int64]string{}
	for _, ch := range log {
		if id, ok := strings.CutPrefix(ch.Path, "instances/"); ok {
			sessions[ch.Session], _, _ = strings.Cut(id, "@-@")
		}
	}
	rounds, uncalled := map[string]int{}, 0
	for _, ch := range log {
		word, ok := strings.CutPrefix(ch.Path, "guarantee/")
		if !ok || strings.Contains(word, "/") || !ch.Gone || ch.At <= after {
			continue
		}
		by := sessions[ch.Session]
		rounds[word+" by "+by]++
		called := slices.ContainsFunc(lines, func(t check.JavaLine) bool {
			return t.Word == word && t.Member == by && t.At <= ch.At && t.At > ch.At-c.job.every.Milliseconds()
		})
		if java := slices.ContainsFunc(c.members, func(m *member) bool { return m.java && m.ip == by }); java && !called {
			uncalled++
		}
	}
	c.check(what, len(rounds) > 0 && uncalled == 0, "%d of the rounds %v ended without a call", uncalled, rounds)
	c.Logf("%s: %v", what, rounds)
}
