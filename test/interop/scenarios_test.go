package interop

import (
	"syscall"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/interop/check"
)

// Addresses. None may begin with another one: members of ElasticJob would confuse the
// two.
const (
	javaA, javaB, javaC = "10.0.1.11", "10.0.1.12", "10.0.1.13"
	oursA, oursB, oursC = "10.0.2.21", "10.0.2.22", "10.0.2.23"
)

// enoughTicks is how many steady ticks each role must have.
const enoughTicks = 30

// javaAlone is the baseline, and checks package check: it shows the irregularities that
// ElasticJob causes itself.
func javaAlone(c *cluster) {
	c.begin(c.javaMember(javaA))
	c.joins(c.place(javaB, true))
	c.steady(5)
	third := c.joins(c.place(javaC, true))
	c.leaves(third)
	c.dies(c.leader(), nil)
}

// javaLeads: our servers join a job of ElasticJob as followers.
func javaLeads(c *cluster) {
	a := c.javaMember(javaA)
	c.begin(a)
	first := c.joins(c.place(oursA, false))
	c.steady(enoughTicks)
	second := c.joins(c.place(oursB, false))
	java := c.joins(c.place(javaB, true))
	c.leaves(java)
	c.leaves(second)
	c.joins(second)
	c.dies(second, nil)
	c.joins(second)
	c.sleeps(second)
	c.joins(java)
	c.dies(java, nil)
	c.joins(java)
	c.sleeps(java)
	c.steady(3)
	c.mustRun(a, first, second, java)
}

// wasmjobdLeads: members of ElasticJob join our job as followers.
func wasmjobdLeads(c *cluster) {
	first := c.ours(oursA)
	c.begin(first)
	a := c.joins(c.place(javaA, true))
	c.steady(enoughTicks)
	b := c.joins(c.place(javaB, true))
	ours := c.joins(c.place(oursB, false))
	c.leaves(ours)
	c.leaves(b)
	c.joins(b)
	c.dies(b, nil)
	c.joins(b)
	c.sleeps(b)
	c.joins(ours)
	c.dies(ours, nil)
	c.joins(ours)
	c.sleeps(ours)
	c.steady(3)
	c.mustRun(a, b, first, ours)
}

// hands: the lead changes between the two kinds, in each way in which a leader can be
// lost.
func hands(c *cluster) {
	java := c.javaMember(javaA)
	c.begin(java)
	ours := c.joins(c.place(oursA, false))
	for _, lose := range []func(*member){c.leaves, func(m *member) { c.dies(m, nil) }, c.sleeps} {
		for range 2 { // once for each kind
			l := c.leader()
			lose(l)
			if c.leader() == l {
				c.Errorf("%s leads still", l.ip)
			}
			if !l.up() {
				c.joins(l)
			}
			c.steady(2)
		}
	}
	c.mustRun(java, ours)
}

// migration: a job moves from ElasticJob to us, and no instant is lost.
func migration(c *cluster) {
	c.begin(c.javaMember(javaA))
	c.joins(c.place(javaB, true))
	c.joins(c.place(javaC, true))
	java := c.present()
	for _, ip := range []string{oursA, oursB, oursC} {
		c.joins(c.place(ip, false))
		c.steady(2)
	}
	for _, m := range java {
		c.quiet()
		c.event("Java goes for good", check.Exact, m)
		m.stop()
		c.settle(nil, m)
		c.steady(2)
	}
	c.mustRun(c.members[3:]...)
}

// digest: both sides use the same password.
func digest(c *cluster) {
	java := c.javaMember(javaA)
	c.begin(java)
	ours := c.joins(c.place(oursA, false))
	c.steady(3)
	c.leaves(java)
	c.joins(java)
	c.leaves(ours)
}

// kind returns the member's kind for the names of events.
func (m *member) kind() string {
	if m.java {
		return "Java"
	}
	return "wasmjobd"
}

// joins starts a member, for the first time or again, and waits until it has items.
func (c *cluster) joins(m *member) *member {
	c.Helper()
	c.event(m.kind()+" joins", check.Join, m)
	c.starts(m)
	return m
}

// starts starts a member in the newest event. If a member joins just before or at an
// instant, its items may run twice or not at all, even among Java members alone: the
// leader assigns them after other members have begun. So starts waits for a moment
// between instants.
func (c *cluster) starts(m *member, settings ...string) {
	c.Helper()
	p := c.behind(m)
	before := len(p.Openings())
	p.Set(zktest.Freeze)
	m.start(settings...)
	c.await(m.ip+" to connect", func() bool { return len(p.Openings()) > before })
	c.between()
	p.Set(zktest.Pass)
	c.settle(append(c.present(), m))
}

// between waits for a moment at which no leader assigns items for an instant.
func (c *cluster) between() {
	c.Helper()
	every := c.last().Every
	c.await("a moment between instants", func() bool {
		since := time.Now().UnixMilli() % every
		return since >= 500 && since < every-1200
	})
}

// leaves asks a member to end.
func (c *cluster) leaves(m *member) {
	c.Helper()
	c.event(c.lead(m)+" leaves", check.Leave, m)
	m.stop()
	c.settle(c.present(), m)
}

// dies kills a member; then runs before others have noticed.
func (c *cluster) dies(m *member, then func()) {
	c.Helper()
	c.event(c.lead(m)+" is killed", check.Kill, m)
	m.kill()
	if then != nil {
		then()
	}
	c.settle(c.present(), m)
}

// sleeps freezes a member for longer than its session lasts, until its items have run
// elsewhere; then it wakes and takes part again.
func (c *cluster) sleeps(m *member) {
	c.Helper()
	c.event(c.lead(m)+" is frozen", check.Freeze, m)
	slept := check.Frozen{Member: m.ip, From: time.Now().UnixMilli()}
	m.signal(syscall.SIGSTOP)
	c.settle(nil, m)
	c.event(m.kind()+" wakes", check.Freeze, m)
	slept.To = time.Now().UnixMilli()
	c.frozen = append(c.frozen, slept)
	m.signal(syscall.SIGCONT)
	c.settle(c.present())
}

// lead returns the name, for events, of a member that may be the leader.
func (c *cluster) lead(m *member) string {
	if c.leader() == m {
		return m.kind() + "'s leader"
	}
	return m.kind()
}

// present returns the members with a process.
func (c *cluster) present() []*member {
	var all []*member
	for _, m := range c.members {
		if m.up() {
			all = append(all, m)
		}
	}
	return all
}

// mustRun checks that exactly these members run.
func (c *cluster) mustRun(members ...*member) {
	c.Helper()
	for _, m := range members {
		if !m.up() {
			c.Errorf("%s has ended\n%s", m.ip, m.log())
		}
	}
}
