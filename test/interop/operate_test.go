package interop

import (
	"fmt"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/test/interop/check"
)

// operate: operators of either side disable servers and items and change the job, under
// any leader.
func operate(c *cluster, javaLeads bool) {
	var java, ours *member
	if javaLeads {
		java = c.javaMember(javaA)
		c.begin(java)
		ours = c.joins(c.place(oursA, false))
	} else {
		ours = c.ours(oursA)
		c.begin(ours)
		java = c.joins(c.place(javaA, true))
	}
	both := []*member{java, ours}
	third, follower := c.joins(c.place(oursB, false)), java
	if javaLeads { // and must continue to
		follower = c.joins(c.place(javaB, true))
	}
	for _, side := range c.sides() {
		for _, m := range []*member{follower, third} {
			c.between()
			c.event(side.name+" disables a server of "+m.kind(), check.Exact, nil)
			side.server(false, m.ip)
			c.settle(nil, m)
			c.between()
			c.event(side.name+" enables a server of "+m.kind(), check.Exact, nil)
			side.server(true, m.ip)
			c.settle(c.present())
		}
		c.wants[2], c.wants[3] = check.Never, check.Never
		c.between()
		c.event(side.name+" disables items", check.Exact, nil)
		side.item(false, 2)
		side.item(false, 3)
		c.settle(nil)
		c.steady(1)
		delete(c.wants, 2)
		delete(c.wants, 3)
		c.between()
		c.event(side.name+" enables items", check.Exact, nil)
		side.item(true, 2)
		side.item(true, 3)
		c.settle(nil)
	}
	for _, total := range []int{9, 4} {
		c.between()
		c.job.items = total
		c.event(fmt.Sprintf("Java sets %d items", total), check.Exact, nil)
		c.set("total=%d|params=%s", total, c.job.parameters())
		c.settle(both)
	}
	c.between()
	c.job.cron, c.job.every = "0/4 * * * * ?", 2*every
	c.event("Java slows the cron", check.Exact, nil)
	c.set("cron=%s", c.job.cron)
	c.settle(both)
	c.between()
	c.job.cron, c.job.every = "0/2 * * * * ?", every
	c.event("Java speeds the cron up", check.Exact, nil)
	c.set("cron=%s", c.job.cron)
	c.settle(both)

	// With overwrite, the member that starts wins.
	c.leaves(java)
	c.job.items = 6
	c.event("Java overwrites the job", check.Join, java)
	c.starts(java, "overwrite=true")
	c.leaves(ours)
	c.job.items, c.job.ours = 8, usualOurs+"overwrite = true"
	c.event("wasmjobd overwrites the job", check.Join, ours)
	c.starts(ours)
}

// side is the interface of an operator.
type side struct {
	name    string
	server  func(on bool, ip string)
	item    func(on bool, item int)
	trigger func()
}

// sides returns ElasticJob's operations and our commands.
func (c *cluster) sides() []side {
	word := map[bool]string{true: "enable", false: "disable"}
	return []side{
		{"Java", func(on bool, ip string) { c.java(word[on]+"-server", ip) },
			func(on bool, item int) { c.java(word[on]+"-item", fmt.Sprint(item)) }, func() { c.java("trigger") }},
		{"wasmjobd", func(on bool, ip string) { c.wasmjobd("server", word[on], ip) },
			func(on bool, item int) { c.wasmjobd("job", word[on], jobName, "--item", fmt.Sprint(item)) }, func() { c.wasmjobd("job", "trigger", jobName) }},
	}
}

// java runs an operation of ElasticJob.
func (c *cluster) java(words ...string) {
	c.Helper()
	if err := c.operator.ask(c.name, jobName, words...); err != nil {
		c.Error(err)
	}
}

// set changes the job's configuration as ElasticJob's console does.
func (c *cluster) set(format string, args ...any) {
	c.Helper()
	c.java("set", fmt.Sprintf(format, args...))
}

// wasmjobd runs one of our commands.
func (c *cluster) wasmjobd(words ...string) {
	c.Helper()
	for _, m := range c.members {
		if !m.java {
			if out, err := m.command(words...).CombinedOutput(); err != nil {
				c.Errorf("%s: %v: %s", strings.Join(words, " "), err, out)
			}
			return
		}
	}
}

// triggers: a request of an operator of either side runs once on all members.
func triggers(c *cluster, javaLeads bool) {
	for i, start := range []func(){func() { c.javaMember(javaA) }, func() { c.ours(oursA) }, func() { c.ours(oursB) }} {
		if i == 0 && !javaLeads {
			c.ours(oursC)
			c.await("the first member", func() bool { return c.leader() != nil })
		}
		before := len(c.node("instances").Children)
		start()
		c.await("another member", func() bool { return len(c.node("instances").Children) == before+1 && c.leader() != nil })
	}
	for range 3 {
		for _, side := range c.sides() {
			c.event(side.name+" triggers", check.Exact, nil)
			from := c.last().From
			side.trigger()
			c.await("every item to run", func() bool {
				left := c.job.items
				for _, r := range c.runs() {
					if r.Start >= from && r.End != 0 {
						left--
					}
				}
				return left <= 0
			})
			c.pass(500 * time.Millisecond) // to see that nothing else comes
		}
	}
}
