package faults

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

var before = flag.String("before", "", "the commit whose program runs beside that of today")

// overdue is a tempo of slow at which a reshard during runs waits for so long that
// today's leader marks items as departing.
var overdue = tempo{12 * time.Second, 8 * time.Second}

// often is a tempo for stories with many steps.
var often = tempo{6 * time.Second, 3 * time.Second}

// upgrades run concurrently: each mostly waits.
var upgrades = []struct {
	name     string
	slow     tempo
	triggers int // least number of triggers that all servers must accept
	play     func(c *cluster, before, today string)
}{
	{"today-joins", usual, 2, func(c *cluster, before, today string) { joinAndLead(c, before, today) }},
	{"before-joins", usual, 2, func(c *cluster, before, today string) { joinAndLead(c, today, before) }},
	{"departing", overdue, 1, departing},
	{"rolling", often, 2, rolling},
	{"alone", often, 0, alone},
}

// TestUpgrade is the test of make upgrade: servers of an earlier commit and of today in
// one cluster.
func TestUpgrade(t *testing.T) {
	if *before == "" {
		return // it needs minutes and the built programs: make upgrade
	}
	old := earlier(t, *before)
	clearWork(t)
	e := ensemble{servers: []*zktest.Server{zktest.Start(t, zktest.Newer(t), zktest.Options{})}}
	var mu sync.Mutex // of table
	var table []evidence.Named
	t.Run("all", func(t *testing.T) {
		for n, u := range upgrades {
			t.Run(u.name, func(t *testing.T) {
				t.Parallel()
				c := emptyCluster(t, e, u.slow)
				c.subnet = fmt.Sprintf("10.0.%d.", n)
				u.play(c, old, built)
				line := c.verdict()
				c.triggered(u.triggers)
				mu.Lock()
				defer mu.Unlock()
				table = append(table, line)
			})
		}
	})
	printTable(t, table)
}

// start adds a server of a program.
func (c *cluster) start(program string) *server {
	c.Helper()
	return c.add(machine{ip: fmt.Sprint(c.subnet, len(c.servers)+1)}, program, c.ensemble.addresses())
}

// joins adds a server of a program, and waits until all servers run something.
func (c *cluster) joins(program string) *server {
	c.Helper()
	since := time.Now().UnixMilli()
	s := c.start(program)
	if len(c.servers) == 1 {
		c.begin()
	} else {
		c.settle(since)
	}
	return s
}

// joinAndLead: a server of the first program runs and one of the second joins. Each is
// killed during its runs, and the other one takes over the lead and the runs. When the
// first is back, the leader assigns the items twice, once after the job got fewer and
// once after it got more.
func joinAndLead(c *cluster, first, second string) {
	c.input.Jobs[0].Items = fewItems // the others are checked by their rows, and below
	a := c.joins(first)
	c.leads(a)
	b := c.joins(second)
	c.leads(a)
	c.trigger(a, "quick")
	c.trigger(b, "quick")

	a.settings = fewer
	c.changesHands(a, b)
	c.await("the smaller total to be assigned", func([]evidence.Line) bool { return c.assignedItems(b, "quick") == fewItems })
	gone := time.Now().UnixMilli()
	c.trigger(a, "quick")
	c.trigger(b, "quick")

	b.settings = more
	c.changesHands(b, a)
	c.await("the items that came back", func(lines []evidence.Line) bool {
		return slices.ContainsFunc(lines, func(l evidence.Line) bool { return back(l) && l.At > gone })
	})
	for _, l := range c.lines.lines {
		if back(l) && l.At > gone && l.At < c.lastHit() {
			c.Errorf("item %d started at %d, when the job had %d items", l.Item, l.At, fewItems)
		}
	}
}

// fewItems is the number of items of quick while it has few.
const fewItems = 2

// fewer and more change the number of items. A file that has not changed has no effect.
var (
	fewer = []string{"WASMJOBD_JOBS__QUICK__SHARDS=2", "WASMJOBD_JOBS__QUICK__ITEM_PARAMS=0=200,1=400"}
	more  = []string{"WASMJOBD_JOBS__QUICK__SHARDS=5", "WASMJOBD_JOBS__QUICK__ITEM_PARAMS=0=200,1=400,2=600,3=800 deaf,4=200"}
)

// back reports whether a guest of an item that is not always there starts.
func back(l evidence.Line) bool { return l.Word == "start" && l.Job == "quick" && l.Item >= fewItems }

// changesHands kills a server during its runs, which may include an accepted trigger. The
// other one must take over the runs and the lead. Then the server is started again,
// during those runs.
func (c *cluster) changesHands(s, other *server) {
	c.Helper()
	run, _ := c.amidstAt(s.machine.ip)
	other.insist("job", "trigger", "slow")
	s.kill()
	c.hit(s)
	c.takenOver(run)
	c.leads(other)
	since := time.Now().UnixMilli()
	s.start()
	c.settle(since)
	c.leads(other)
	c.healthy(s)
	c.healthy(other)
}

// departing: servers of the earlier program join during runs that today's leader does not
// wait for, some of them their own.
func departing(c *cluster, before, today string) {
	a := c.joins(today)
	for range 2 {
		named := c.departures()
		c.amidst()
		s := c.joins(before)
		for range 4 { // a busy machine may be too late
			if c.departures() > named {
				break
			}
			if err := s.stop(); err != nil {
				c.Error(err)
			}
			c.amidst()
			s.start()
			c.settle(time.Now().UnixMilli())
		}
		if c.departures() == named {
			c.Error("no assignment names a departing item")
		}
	}
	c.leads(a)
	for _, s := range []*server{a, c.servers[2]} {
		c.healthy(s)
		c.trigger(s, "quick")
	}
}

// departures returns how many assignments of slow have named departing items.
func (c *cluster) departures() (n int) {
	c.Helper()
	for _, t := range c.ensemble.log() {
		for _, change := range t.Changes {
			if strings.HasPrefix(change.Path, "/"+c.name+"/slow/") && bytes.Contains(change.Data, []byte(`"departing"`)) {
				n++
			}
		}
	}
	return n
}

// rolling replaces one server after the other, as an upgrade does, during runs, which end
// normally. Then it goes back in the same way.
func rolling(c *cluster, before, today string) {
	for range 3 {
		c.start(before)
	}
	c.begin()
	for turn, program := range []string{today, before} {
		for i, s := range c.servers {
			c.amidst()
			if err := s.stop(); err != nil {
				c.Error(err)
			}
			since := time.Now().UnixMilli()
			s.program = program
			s.start()
			if i == 1 {
				c.settle(since)
				c.operators(c.servers[2*turn], c.servers[2-2*turn])
			}
		}
		c.settle(time.Now().UnixMilli())
	}
}

// operators: the programs of two different servers make requests. The last ones, which
// take long, come from the second server. The first is of today, and refuses what the
// second would leave out.
func (c *cluster) operators(one, other *server) {
	c.Helper()
	out, err := one.command(one.program, "job", "run", "quick", "--param", "200").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("has a release without parameters of runs")) {
		c.Errorf("a run with a parameter beside %s: %v\n%s", other.program, err, out)
	}
	for _, s := range []*server{one, other} {
		for _, words := range [][]string{
			{"job", "pause", "busy"}, {"job", "resume", "busy"}, {"job", "disable", "quick", "--item", "1"}, {"job", "enable", "quick", "--item", "1"},
			{"job", "reshard", "slow"}, {"doctor", "--registry"},
		} {
			s.insist(words...)
		}
		c.healthy(s)
		c.trigger(s, "quick")
	}
	other.insist("server", "disable", one.machine.ip)
	c.moved(one, time.Now().UnixMilli())
	other.insist("server", "enable", one.machine.ip)
}

// alone: a server on its own registry is killed during runs, and today's program goes on
// with its data. The earlier program refuses what that has written.
func alone(c *cluster, before, today string) {
	c.files, c.ensemble = []string{"testdata/jobs.toml"}, ensemble{}
	s := c.joins(before)
	c.amidst()
	s.kill()
	c.hit(s)
	s.program = today
	for range 2 { // first with the data of both, then with its own
		since := time.Now().UnixMilli()
		s.start()
		c.settle(since)
		if err := s.stop(); err != nil {
			c.Error(err)
		}
	}
	out, err := s.command(before, "serve").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("another version of the format")) {
		c.Errorf("%s on the data of today's program: %v\n%s", before, err, out)
	}
	s.start()
}
