package interop

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// Required results.
const (
	fasterReshard = 5.0
	fewerRequests = 0.1
)

// rounds is how many reshards by each kind of leader are measured.
const rounds = 5

// assigning is a job of a thousand items that runs only on triggers.
var assigning = definition{cron: never, items: 1000, session: 6 * time.Second, ours: usualOurs + "parallel = 8\nlimits.instance = { pool = 8 }\n"}

// TestReshard has a leader of ours and one of ElasticJob in turn assign a thousand items
// anew to members of the same kinds. ZooKeeper's log shows the time: from the mark at the
// begin to the transaction that removes the request.
func TestReshard(t *testing.T) {
	if !*enabled {
		return // see TestInterop
	}
	s := newSetting(t)
	java, ours := newCluster(t, s, "java", assigning), newCluster(t, s, "ours", assigning)
	java.pair(true)
	ours.pair(false)
	took := map[*cluster][]time.Duration{}
	for round := range rounds + 1 {
		for _, c := range []*cluster{java, ours} {
			d := c.reshard(round%2 == 0)
			if round > 0 { // the first round creates the nodes and warms everything up
				took[c] = append(took[c], d)
			}
		}
	}
	t.Logf("1,000 items assigned to 2 or 3 instances by a leader of ElasticJob: %v", took[java])
	t.Logf("by one of ours: %v", took[ours])
	times := float64(median(took[java])) / float64(median(took[ours]))
	t.Logf("medians %v and %v: %.1f times as fast; wanted %.0f", median(took[java]), median(took[ours]), times, fasterReshard)
	if times < fasterReshard {
		t.Errorf("our leader is %.1f times as fast, not %.0f", times, fasterReshard)
	}
}

// foreignAddress is an instance that runs nothing; items are assigned anew when it comes
// and goes.
const foreignAddress = "10.0.3.31"

// reshard adds or removes a third instance and returns the leader's time to assign the
// items anew.
func (c *cluster) reshard(comes bool) time.Duration {
	c.Helper()
	before := c.lastZxid()
	begun := time.Now().UnixMilli()
	id := c.path("instances/" + foreignAddress + "@-@1")
	runs := c.job.items
	if comes {
		runs -= (c.job.items + 2) / 3 // the third member has the first, larger part
		var instance, server string   // in layout 2.1 both are empty
		if *version == ej3 {
			instance, server = "jobInstanceId: "+foreignAddress+"@-@1\nserverIp: "+foreignAddress+"\n", "ENABLED"
		}
		ops := []registry.Op{{Kind: registry.CreateEphemeral, Path: id, Data: []byte(instance)}}
		if !c.node("servers/" + foreignAddress).Exists {
			ops = append([]registry.Op{{Kind: registry.Create, Path: c.path("servers/" + foreignAddress), Data: []byte(server)}}, ops...)
		}
		c.commit(ops...)
	} else {
		c.commit(registry.Op{Kind: registry.Delete, Path: id, Version: registry.AnyVersion})
	}
	triggered := c.leader().java // a Java leader assigns only when it is about to run something
	if triggered {
		c.await("the wish", func() bool { return c.node("leader/sharding/necessary").Exists })
		c.java("trigger")
	}
	var took time.Duration
	c.await("a reshard", func() bool {
		if c.node("leader/sharding/necessary").Exists {
			return false
		}
		took = c.assignedWithin(before)
		return took != 0
	})
	if triggered {
		c.await("all items to run", func() bool {
			ended := 0
			for _, r := range c.since(begun) {
				if r.End != 0 {
					ended++
				}
			}
			return ended >= runs
		})
	}
	return took
}

func (c *cluster) commit(ops ...registry.Op) {
	c.Helper()
	if _, err := c.registry.Commit(c.Context(), ops...); err != nil {
		c.Fatal(err)
	}
}

// assignedWithin returns the time between the two marks after a transaction; 0 if the log
// does not have both yet.
func (c *cluster) assignedWithin(after int64) time.Duration {
	c.Helper()
	var begun, ended time.Time
	for _, t := range c.zk.Log() {
		if t.Zxid <= after {
			continue
		}
		for _, ch := range t.Changes {
			switch {
			case ch.Kind == zktest.Created && ch.Path == c.path("leader/sharding/processing"):
				begun = t.Time
			case ch.Kind == zktest.Deleted && ch.Path == c.path("leader/sharding/processing"):
				ended = t.Time
			}
		}
	}
	if begun.IsZero() || ended.Before(begun) {
		return 0
	}
	return ended.Sub(begun)
}

func median(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// often is a job whose members' requests are counted. Its sessions are so long that signs
// of life are rare.
var often = definition{cron: "0/2 * * * * ?", every: every, items: 30, work: 10 * time.Millisecond, session: 30 * time.Second}

// counted is the number of ticks over which requests are counted.
const counted = 10

// TestRequests measures the requests that a third member adds to a job of two members of
// ElasticJob, as counted by ZooKeeper.
func TestRequests(t *testing.T) {
	if !*enabled {
		return // see TestInterop
	}
	t.Parallel()
	s := newSetting(t)
	s.zk = zktest.Start(t, zktest.Debian(t), zktest.Options{Tick: 2 * time.Second}) // for long sessions
	c := newCluster(t, s, "requests", often)
	a := c.javaMember(javaA)
	c.begin(a)
	c.joins(c.place(javaB, true))
	alone, _ := c.requests(a)
	var added, own [2]float64
	for i, m := range []*member{c.place(javaC, true), c.place(oursA, false)} {
		c.joins(m)
		var all float64
		all, own[i] = c.requests(m)
		added[i] = all - alone
		t.Logf("a third member, %s: its own %.1f requests a tick; all %.1f, two alone %.1f, so it adds %.1f", m.kind(), own[i], all, alone, added[i])
		c.leaves(m)
	}
	t.Logf("a member of ours sends %.3f of what one of ElasticJob does, and adds %.3f; wanted %.1f at most", own[1]/own[0], added[1]/added[0], fewerRequests)
	if own[1] > fewerRequests*own[0] || added[1] > fewerRequests*added[0] {
		t.Error("that is too much")
	}
}

// requests returns the requests per tick: of all clients, and of one member.
func (c *cluster) requests(m *member) (all, own float64) {
	c.Helper()
	c.steady(3) // for the reads that the last change still causes
	c.quiet()
	allBefore, ownBefore := c.received(m)
	c.pass(counted * c.job.every)
	allAfter, ownAfter := c.received(m)
	return float64(allAfter-allBefore) / counted, float64(ownAfter-ownBefore) / counted
}

var (
	receivedOfAll = regexp.MustCompile(`zk_packets_received\s+(\d+)`)
	receivedOfOne = regexp.MustCompile(`recved=(\d+),sent=\d+,sid=0x([0-9a-f]+)`)
)

// received returns ZooKeeper's counts so far.
func (c *cluster) received(m *member) (all, own int) {
	c.Helper()
	session := fmt.Sprintf("%x", c.node("instances/"+c.instance(m)).Stat.Owner)
	found := receivedOfAll.FindStringSubmatch(c.zk.Ask("mntr"))
	if found == nil {
		c.Fatal("mntr tells of no requests")
	}
	all, _ = strconv.Atoi(found[1]) // the match has only digits
	for _, one := range receivedOfOne.FindAllStringSubmatch(c.zk.Ask("cons"), -1) {
		if one[2] == session {
			own, _ = strconv.Atoi(one[1])
		}
	}
	return all, own
}
