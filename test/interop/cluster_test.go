package interop

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
	"github.com/wasmjob/wasmjob/test/interop/check"
)

const (
	// session is the time-out of all sessions.
	session = 3 * time.Second
	// patience is how long a test waits at most. On a busy machine several instants of
	// the slowest job may pass before everything has settled.
	patience = 2 * time.Minute
	// look is the interval of checks.
	look = 50 * time.Millisecond
)

// setting is shared by all scenarios.
type setting struct {
	zk        *zktest.Server
	classpath string
	operator  *operator
	dir       string
}

// cluster is one scenario: a job, its members and its timeline.
type cluster struct {
	*testing.T
	setting
	name     string // also the name of the namespace
	dir      string
	evidence string // the folder of the guests' file
	job      definition
	members  []*member
	lives    int // number of Java processes so far
	spans    []check.Span
	wants    map[int]check.Want // of items, as they are or are about to be
	frozen   []check.Frozen
	rows     []check.Row // facts that a scenario has checked itself
	registry registry.Session
}

func newCluster(t *testing.T, s setting, name string, d definition) *cluster {
	t.Helper()
	if d.session == 0 {
		d.session = session
	}
	c := &cluster{T: t, setting: s, name: name, dir: filepath.Join(s.dir, name), job: d, wants: map[int]check.Want{}}
	c.evidence = filepath.Join(c.dir, "evidence")
	if err := os.MkdirAll(c.evidence, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := zk.New(zk.Options{Servers: []string{s.zk.Address()}, Digest: d.digest})
	if err != nil {
		t.Fatal(err)
	}
	if c.registry, err = r.Open(t.Context(), func(registry.Event) {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, m := range c.members {
			if m.up() {
				m.kill()
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// javaMember and ours give a member its address, and start its first process.
func (c *cluster) javaMember(ip string, settings ...string) *member {
	c.Helper()
	return c.member(ip, true, settings...)
}

func (c *cluster) ours(ip string, settings ...string) *member {
	c.Helper()
	return c.member(ip, false, settings...)
}

func (c *cluster) member(ip string, java bool, settings ...string) *member {
	c.Helper()
	m := c.place(ip, java)
	m.start(settings...)
	return m
}

// place returns a member that has not started.
func (c *cluster) place(ip string, java bool) *member {
	m := &member{cluster: c, ip: ip, java: java, zk: c.zk.Address()}
	c.members = append(c.members, m)
	return m
}

// path returns the path of a node of the job.
func (c *cluster) path(below string) string { return "/" + c.name + "/" + jobName + "/" + below }

// node reads a node of the job.
func (c *cluster) node(below string) registry.Node {
	c.Helper()
	n, err := c.registry.Read(c.Context(), c.path(below))
	if err != nil {
		c.Fatal(err)
	}
	return n
}

// leader returns the leading member, or nil if there is none.
func (c *cluster) leader() *member {
	c.Helper()
	ip, _, _ := strings.Cut(string(c.node("leader/election/instance").Data), "@")
	for _, m := range c.members {
		if m.ip == ip {
			return m
		}
	}
	return nil
}

// role returns the kind of the leader, for the table.
func (c *cluster) role() string {
	c.Helper()
	switch l := c.leader(); {
	case l == nil:
		return "nobody leads"
	case l.java:
		return javaRole
	}
	return oursRole
}

// Roles.
const (
	javaRole = "Java leads"
	oursRole = "wasmjobd leads"
)

// runs returns the runs that all members have reported so far.
func (c *cluster) runs() []check.Run {
	c.Helper()
	runs, _ := c.output()
	return runs
}

// output returns the runs of all members, and the other lines of Java members.
func (c *cluster) output() ([]check.Run, []check.JavaLine) {
	c.Helper()
	var runs []check.Run
	var javaLines []check.JavaLine
	for _, m := range c.members {
		for _, name := range m.outputs {
			f, err := os.Open(name)
			if err != nil {
				c.Fatal(err)
			}
			some, more, err := check.ReadJava(f, m.ip)
			if err := errors.Join(err, f.Close()); err != nil {
				c.Fatal(err)
			}
			runs, javaLines = append(runs, some...), append(javaLines, more...)
		}
	}
	text, err := os.ReadFile(filepath.Join(c.evidence, "lines"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.Fatal(err)
	}
	lines, err := evidence.Read(strings.NewReader(string(text)))
	if err != nil {
		c.Fatal(err)
	}
	runs = append(runs, check.Ours(lines)...)
	check.Sort(runs)
	return runs, javaLines
}

// await waits until ok returns true.
func (c *cluster) await(what string, ok func() bool) {
	c.Helper()
	again, late := time.NewTicker(look), time.NewTimer(patience)
	defer again.Stop()
	defer late.Stop()
	for !ok() {
		select {
		case <-again.C:
			c.alive()
		case <-late.C:
			for _, m := range c.members {
				c.Logf("%s:\n%s", m.ip, m.log())
			}
			c.dump()
			c.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// alive checks that no process ended by itself.
func (c *cluster) alive() {
	c.Helper()
	for _, m := range c.members {
		if m.running != nil && !m.running.asked && !m.up() {
			c.Fatalf("%s has ended: %v\n%s", m.ip, m.running.err, m.log())
		}
	}
}

// pass waits for d.
func (c *cluster) pass(d time.Duration) {
	c.Helper()
	until := time.Now().Add(d)
	c.await("time to pass", func() bool { return !time.Now().Before(until) })
}

// event records an event that is about to hit a member, or none. The job and the wants of
// its items must already have their values after the event.
func (c *cluster) event(name string, rule check.Rule, hit *member) {
	c.Helper()
	now := time.Now().UnixMilli()
	s := check.Span{Role: c.role(), Event: name, Every: c.job.every.Milliseconds(), Items: c.job.items, Rule: rule, Wants: map[int]check.Want{}}
	before := s
	if len(c.spans) > 0 {
		before = *c.last()
	}
	if s.Items = max(s.Items, before.Items); s.Every != before.Every {
		s.Every, s.Also = max(s.Every, before.Every), min(s.Every, before.Every)
	}
	for item := range s.Items {
		want := c.want(item)
		if len(c.spans) > 0 && want != wanted(before, item) {
			want = check.Maybe
		}
		s.Wants[item] = want
	}
	if s.From = now; s.Every != 0 {
		s.From -= now % s.Every
	}
	if hit != nil {
		s.Hit = hit.ip
	}
	c.spans = append(c.spans, s)
	c.Logf("%s: %s", time.Now().UTC().Format("15:04:05.000"), name)
}

// want returns how often an item runs after the event.
func (c *cluster) want(item int) check.Want {
	if item >= c.job.items {
		return check.Never
	}
	return c.wants[item]
}

// wanted returns how often it ran before.
func wanted(s check.Span, item int) check.Want {
	if item >= s.Items {
		return check.Never
	}
	return s.Wants[item]
}

// last returns the newest span.
func (c *cluster) last() *check.Span { return &c.spans[len(c.spans)-1] }

// settle waits for a tick after the event in which every wanted item ran once and to its
// end, on members that include all of with and none of without. That tick ends the
// event's span, and a steady one follows.
func (c *cluster) settle(with []*member, without ...*member) {
	c.Helper()
	s, begun := c.last(), time.Now()
	every := c.job.every.Milliseconds()
	var tick int64
	c.await("a tick of all items after "+s.Event, func() bool {
		// A tick is over when the next one comes.
		tick = c.settled(s.From+s.Every, time.Now().UnixMilli()-every, with, without)
		return tick != 0
	})
	c.Logf("settled after %v", time.Since(begun).Round(time.Millisecond))
	next := check.Span{Role: c.role(), Event: "steady", From: tick + every, Every: every, Items: s.Items, Wants: map[int]check.Want{}}
	for item := range s.Items {
		next.Wants[item] = c.want(item)
	}
	c.spans = append(c.spans, next)
}

// settled returns the first such tick or, if the cron has changed, the second.
func (c *cluster) settled(from, upTo int64, with, without []*member) int64 {
	c.Helper()
	every, changed := c.job.every.Milliseconds(), c.last().Also != 0
	ran, by := map[int64]map[int]int{}, map[int64]map[string]bool{}
	for _, r := range c.runs() {
		at := r.Instant
		if at == 0 {
			at = r.Start - r.Start%every
		}
		if r.Start >= from && r.End != 0 {
			if ran[at] == nil {
				ran[at], by[at] = map[int]int{}, map[string]bool{}
			}
			ran[at][r.Item]++
			by[at][r.Member] = true
		}
	}
	good := 0
	for t := from; t <= upTo; t += every {
		ok := true
		for item := range c.last().Items {
			want := c.want(item)
			ok = ok && (want != check.Once || ran[t][item] == 1) && (want != check.Never || ran[t][item] == 0)
		}
		ok = ok && !slices.ContainsFunc(with, func(m *member) bool { return !by[t][m.ip] }) && !slices.ContainsFunc(without, func(m *member) bool { return by[t][m.ip] })
		if good++; !ok {
			good = 0
		}
		if good == 2 || good == 1 && !changed {
			return t
		}
	}
	return 0
}

// begin waits until all members run, at the start of a scenario. Earlier ticks do not
// count.
func (c *cluster) begin(with ...*member) {
	c.Helper()
	c.event("start", check.Exact, nil)
	c.settle(with)
	c.spans = c.spans[len(c.spans)-1:]
}

// quiet waits for a moment at which no item runs and no instant is near.
func (c *cluster) quiet() {
	c.Helper()
	every := c.job.every.Milliseconds()
	c.await("a quiet moment", func() bool {
		now := time.Now().UnixMilli()
		since := now % every
		return since >= every/3 && since < every/3+200 && !slices.ContainsFunc(c.runs(), func(r check.Run) bool {
			return r.End == 0 && r.Start > now-every
		})
	})
}

// steady waits for ticks without an event.
func (c *cluster) steady(ticks int) {
	c.Helper()
	for i := range ticks {
		until := c.last().From + int64(i+1)*c.last().Every
		c.await("a steady tick", func() bool { return time.Now().UnixMilli() >= until })
	}
}

// check adds a line to the table for a fact that no tick shows.
func (c *cluster) check(event string, ok bool, format string, args ...any) {
	c.Helper()
	r := check.Row{Role: c.role(), Event: event, Ticks: 1, Exact: 1}
	if !ok {
		r.Exact, r.Faults = 0, 1
		c.Errorf(event+": "+format, args...)
	}
	c.rows = append(c.rows, r)
}
