package interop

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/interop/check"
)

// hazards are the known problems between the two kinds of members, by number: all of them
// in layout 2.1, and in layout 3 those that do not concern only 2.1.5. The others need no
// member of ElasticJob, or are tested elsewhere:
//
//	 1  a job of another layout           damaged_config.txt (protocol)
//	 3  keys of ours in nodes of theirs   every scenario; config21_test.go (layout)
//	 6  addresses that begin with others  ids: host/job/id_test.go; 06-clean-stop-on-the-address
//	 7  the server before its instance    the order that both keep: sim/golden
//	 8  values of a server's node         flows disable, sim/golden; operate
//	13  what kind of node running is      flows basic, sim/golden
//	18  triggers                          trigger-java, trigger-wasmjobd
//	21  digest                            digest
//	22  Quartz's cron                     schedule/vectors_test.go
//	25  names and task ids                host/job/id_test.go
//	26  JSON of the context               host/job/context_test.go
//
// 2, 11, 20, 28 and 29 concern other layouts, 11 in each scenario of 3.0.4; 23, clocks,
// is java-leads with a frozen leader.
var hazards = []scenario{
	{name: "04-config-byte-for-byte", job: usual, play: configBytes, only: ej2},
	{name: "05-overwrite", job: usual, play: overwrite},
	{name: "05-another-class", job: otherClass, play: staysOut},
	{name: "06-clean-stop-on-the-address", job: failingOver, play: cleanStop},
	{name: "09-order-of-instances", job: usual, play: order},
	{name: "10-unknown-strategy", job: strange, play: unknownStrategy},
	{name: "12-reshard-at-every-tick", job: thousand, play: reshardAtEveryTick, only: ej2},
	{name: "14-monitoring-off", job: unmonitored, play: staysOut},
	{name: "15-our-reconnect", job: usual, play: ourReconnect},
	{name: "16-java-reconnect", job: failingOver, play: javaReconnect},
	{name: "17-shutdown-by-java", job: usual, play: shutdownByJava},
	{name: "19-misfire-of-java", job: overdueJava, play: misfireOfJava},
	{name: "19-misfire-of-ours", job: overdueOurs, play: misfireOfOurs},
	{name: "19-death-of-java", job: marksJava, play: deathOfJava},
	{name: "19-pending-of-java", job: marksPair, play: pendingOfJava},
	{name: "19-death-of-ours", job: marksOurs, play: deathOfOurs},
	{name: "19-death-of-a-taker", job: marksTaken, play: deathOfTaker, only: ej3},
	{name: "22-no-time-zone", job: zoneless, play: staysOut},
	{name: "24-frozen-holder-of-the-latch", job: usual, play: frozenHolder},
	{name: "24-frozen-taker", job: marksJava, play: sleepingTaker},
}

var (
	failingOver = definition{cron: "0/2 * * * * ?", every: every, items: 6, work: 50 * time.Millisecond, failover: true}
	otherClass  = definition{cron: "0/2 * * * * ?", every: every, items: 2, work: 50 * time.Millisecond, ours: "class = \"interop.Other\"\ntimezone = \"UTC\"\n"}
	zoneless    = definition{cron: "0/2 * * * * ?", every: every, items: 2, work: 50 * time.Millisecond, ours: "class = \"interop.Work\"\n"}
	strange     = definition{cron: "0/2 * * * * ?", every: every, items: 4, work: 50 * time.Millisecond, java: "strategy=interop.Backwards"}
	unmonitored = definition{cron: "0/2 * * * * ?", every: every, items: 2, work: 50 * time.Millisecond, java: "monitor=false"}
	// thousand has so many items that a reshard and a run take a while.
	thousand = definition{cron: "0/15 * * * * ?", every: 15 * time.Second, items: 1000, session: 6 * time.Second,
		ours: usualOurs + "parallel = 8\nlimits.instance = { pool = 8 }\n"}
)

// TestHazards has a test for each number.
func TestHazards(t *testing.T) {
	if !*enabled {
		return // see TestInterop
	}
	t.Parallel()
	printTable(t, play(t, ofVersion(hazards)))
}

// configBytes: our server changes only the requested value in a configuration that
// ElasticJob has written.
func configBytes(c *cluster) {
	c.job.java, c.job.ours = "parameter=a<b>&'c'=d", usualOurs+`param = "a<b>&'c'=d"`
	java := c.javaMember(javaA)
	c.begin(java)
	written := c.node("config").Data
	odd := append(bytes.TrimSuffix(written, []byte("}")), `, "owner" : {"team":["a",null,1.50]}}`...)
	if _, err := c.registry.Commit(c.Context(), registry.Op{Kind: registry.Set, Path: c.path("config"), Data: odd, Version: registry.AnyVersion}); err != nil {
		c.Fatal(err)
	}
	ours := c.joins(c.place(oursA, false))
	c.check("wasmjobd joins a strange config", bytes.Equal(c.node("config").Data, odd), "it is %s, not %s", c.node("config").Data, odd)
	c.leaves(ours)
	c.job.items = 5
	c.event("wasmjobd changes a value", check.Join, ours)
	c.starts(ours)
	c.mustRun(java)
	want := strings.Replace(string(odd), `"shardingTotalCount":6`, `"shardingTotalCount":5`, 1)
	want = strings.Replace(want, `,5\u003d50`, "", 1)
	c.check("nothing else is changed", string(c.node("config").Data) == want, "it is\n%s, not\n%s", c.node("config").Data, want)
}

// overwrite: a member of ElasticJob that starts with overwrite replaces the whole
// configuration, and our part survives.
func overwrite(c *cluster) {
	first := c.javaMember(javaA)
	c.begin(first)
	ours := c.joins(c.place(oursA, false))
	module := c.node("wasm/module").Data
	c.job.items = 4
	second := c.place(javaB, true)
	c.event("Java overwrites", check.Join, second)
	c.starts(second, "overwrite=true")
	c.mustRun(first, ours)
	c.check("what is ours survives", bytes.Equal(module, c.node("wasm/module").Data), "wasm/module is %s, not %s", c.node("wasm/module").Data, module)
}

// staysOut: a server that must not join a job of ElasticJob writes nothing, reports the
// reason, and disturbs no member.
func staysOut(c *cluster) {
	java := c.javaMember(javaA)
	c.begin(java)
	config := c.node("config").Data
	c.event("wasmjobd stays out", check.Exact, nil)
	ours := c.ours(oursA)
	c.await("a line in its log", func() bool {
		return strings.Contains(ours.allLog(), `"level":"WARN"`) || strings.Contains(ours.allLog(), `"level":"ERROR"`)
	})
	until := time.Now().Add(3 * every)
	c.await("some ticks", func() bool { return time.Now().After(until) })
	c.settle([]*member{java}, ours)
	for line := range strings.Lines(ours.allLog()) {
		if strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`) {
			c.Log(strings.TrimSpace(line))
		}
	}
	c.check("nothing is written", !c.node("wasm").Exists && bytes.Equal(c.node("config").Data, config) && len(c.node("instances").Children) == 1 && len(c.node("servers").Children) == 1,
		"instances %v, servers %v, wasm %v", c.node("instances").Children, c.node("servers").Children, c.node("wasm").Children)
}

// cleanStop: our server stops in an orderly way while a member of ElasticJob takes
// another address for the same one. Runs that had ended do not run again.
func cleanStop(c *cluster) {
	java := c.javaMember(javaA)
	c.begin(java)
	ours := c.joins(c.place(javaA[:len(javaA)-1], false))
	stop := func() {
		c.quiet()
		c.event(c.lead(ours)+" stops in order", check.Exact, ours)
		ours.stop()
		c.settle(nil, ours)
		c.steady(1)
	}
	stop()
	c.joins(ours)
	c.leaves(java)
	c.joins(java)
	c.check("wasmjobd leads", c.leader() == ours, "%v leads", c.leader())
	stop()
	c.mustRun(java)
}

// unknownStrategy: our server does not lead a job with a strategy that it does not know,
// but owns the items that it is assigned.
func unknownStrategy(c *cluster) {
	first := c.javaMember(javaA)
	c.begin(first)
	ours := c.joins(c.place(oursA, false))
	second := c.joins(c.place(javaB, true))
	c.leaves(first)
	c.check("it leaves the lead to Java", c.leader() == second, "%v leads", c.leader())
	c.steady(2)
	c.mustRun(ours, second)
}

// order: under any leader the instances get the items that ElasticJob would assign to
// them.
func order(c *cluster) {
	a := c.javaMember(javaA)
	c.begin(a)
	c.joins(c.place(oursA, false))
	c.joins(c.place(javaB, true))
	c.assignedAsElasticJob()
	c.joins(c.place(oursB, false))
	c.assignedAsElasticJob()
	c.leaves(a)
	c.assignedAsElasticJob()
	for _, m := range []*member{c.leader(), a} { // until a member of the other kind leads
		if m == a {
			c.joins(a)
		} else {
			c.leaves(m)
		}
		c.assignedAsElasticJob()
	}
}

// assignedAsElasticJob compares the owners of all items with the average allocation.
func (c *cluster) assignedAsElasticJob() {
	c.Helper()
	members := c.node("instances").Children
	slices.Sort(members)
	slices.Reverse(members)
	var want, got []string
	each, left := c.job.items/len(members), c.job.items%len(members)
	for _, m := range members {
		for range each {
			want = append(want, m)
		}
	}
	want = append(want, members[:left]...)
	for i := range c.job.items {
		got = append(got, string(c.node(fmt.Sprintf("sharding/%d/instance", i)).Data))
	}
	c.check("items as ElasticJob assigns them", slices.Equal(got, want), "%v, not %v", got, want)
}

// reshardAtEveryTick: our leader assigns a thousand items anew just before each tick, to
// other members each time, while a member of ElasticJob reads the owners from its cache.
func reshardAtEveryTick(c *cluster) {
	java, ours := c.pair(false)
	other := c.ours(oursB)
	c.begin(java, ours, other)
	for i := range 4 {
		// At the tick Java members check whether they must wait for a reshard. If it is
		// requested in the same milliseconds, items run twice, even among Java members
		// only.
		c.before(time.Duration(400+200*i) * time.Millisecond)
		c.event("1000 items are assigned anew", check.Exact, nil)
		c.last().From += c.job.every.Milliseconds()
		c.sides()[1].server(i%2 == 1, oursB)
	}
	c.settle([]*member{ours, java, other})
}

// before waits until the given time before an instant.
func (c *cluster) before(d time.Duration) {
	c.Helper()
	every := c.job.every.Milliseconds()
	next := (time.Now().UnixMilli()/every + 1) * every
	if next-time.Now().UnixMilli() < d.Milliseconds() {
		next += every
	}
	c.await("the moment", func() bool { return time.Now().UnixMilli() >= next-d.Milliseconds() })
}

// behind puts a proxy between a member and ZooKeeper.
func (c *cluster) behind(m *member) *zktest.Proxy {
	c.Helper()
	if m.proxy == nil {
		m.proxy = zktest.NewProxy(c.T, c.zk.Address())
		m.zk = m.proxy.Address()
	}
	return m.proxy
}

// ourReconnect: our server that reconnects within its session changes nothing.
func ourReconnect(c *cluster) {
	java := c.javaMember(javaA)
	c.begin(java)
	ours := c.place(oursA, false)
	p := c.behind(ours)
	c.joins(ours)
	id := "instances/" + c.instance(ours)
	before := c.node(id).Stat
	c.quiet()
	c.event("wasmjobd is cut off for a moment", check.Exact, nil)
	p.Set(zktest.Refuse)
	c.pass(300 * time.Millisecond)
	p.Set(zktest.Pass)
	c.settle([]*member{java, ours})
	c.check("the same instance", c.node(id).Stat.Created == before.Created && c.node(id).Stat.Modified == before.Modified, "it was written anew")
}

// instance returns the instance id of a member.
func (c *cluster) instance(m *member) string {
	c.Helper()
	for _, id := range c.node("instances").Children {
		if strings.HasPrefix(id, m.ip+"@-@") {
			return id
		}
	}
	c.Fatalf("%s is no instance", m.ip)
	return ""
}

// javaReconnect: a member of ElasticJob that reconnects deletes its instance and creates
// it again. That does not count as a death; otherwise failover would run its running item
// twice.
func javaReconnect(c *cluster) {
	ours := c.ours(oursA)
	c.begin(ours)
	java := c.place(javaA, true)
	p := c.behind(java)
	c.joins(java)
	id := "instances/" + c.instance(java)
	for range 2 {
		before := c.node(id).Stat
		c.quiet()
		c.event("Java is cut off for a moment", check.Kill, java)
		p.Set(zktest.Refuse)
		c.pass(300 * time.Millisecond)
		p.Set(zktest.Pass)
		c.await("it to be written anew", func() bool { n := c.node(id); return n.Exists && n.Stat.Created != before.Created })
		c.settle([]*member{java, ours})
	}
}

// shutdownByJava: ElasticJob's console shuts the job down on our server.
func shutdownByJava(c *cluster) {
	java := c.javaMember(javaA)
	c.begin(java)
	ours := c.joins(c.place(oursA, false))
	c.quiet()
	c.event("Java shuts wasmjobd's job down", check.Leave, ours)
	c.java("shutdown", oursA)
	c.settle([]*member{java}, ours)
	c.steady(3)
	c.check("it stays away", len(c.node("instances").Children) == 1 && ours.up(), "instances %v", c.node("instances").Children)
}

// frozenHolder: a client with ElasticJob's own recipe holds the latch of the election and
// is frozen when the leader dies.
func frozenHolder(c *cluster) {
	java := c.javaMember(javaA)
	c.begin(java)
	ours := c.joins(c.place(oursA, false))
	holder := java.holder(c.path("leader/election/latch"))
	c.event("the latch's holder sleeps, Java's leader is killed", check.Kill, java)
	if err := holder.Process.Signal(syscall.SIGSTOP); err != nil {
		c.Fatal(err)
	}
	java.kill()
	c.settle([]*member{ours}, java)
	c.check("the lead is taken", c.leader() == ours, "%v leads", c.leader())
	c.joins(java)
}
