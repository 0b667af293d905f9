package cluster_test

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/strategy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mortal is the session time-out of a member that will lose its session.
const mortal = 5 * time.Second

// Flows that no recording of ElasticJob has; package golden has the others.
func TestFlows(t *testing.T) {
	t.Parallel()
	// A tick of one second, so that a busy machine loses no session.
	server := zktest.Start(t, zktest.Debian(t), zktest.Options{Tick: time.Second})
	for name, test := range map[string]func(*testing.T, *stage){
		"two-transactions":        twoTransactions,
		"strategies":              strategies,
		"leader-dies":             leaderDies,
		"repairs":                 repairs,
		"connection-cut":          connectionCut,
		"session-expires":         sessionExpires,
		"operators":               operators,
		"late-for-the-assignment": lateForTheAssignment,
		"idle":                    idle,
		"times":                   times,
		"tokens":                  tokens,
		"hour-ahead":              hourAhead,
		"hour-behind":             hourBehind,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &stage{Cluster: cluster.New(t, server, name, "job"), t: t, server: server})
		})
	}
}

// stage is a cluster with helpers for these tests.
type stage struct {
	*cluster.Cluster
	t      *testing.T
	server *zktest.Server
}

func manual(items int) job.Config {
	return job.Config{Name: "job", Shards: items, MonitorExecution: true, Failover: true}
}

// calm waits until the items are assigned to these members and no work is left.
func (c *stage) calm(members ...job.InstanceID) protocol.View {
	c.t.Helper()
	members = slices.Clone(members)
	slices.Sort(members)
	slices.Reverse(members)
	return *c.Await(fmt.Sprintf("items dealt out among %s", members), func(s cluster.State) bool {
		v := s.View
		return v.Leader != "" && !v.Necessary && len(v.Pending) == 0 && v.Config != nil && slices.Equal(v.Assignment.Members, members) &&
			len(v.Items) == v.Config.Total && v.Assignment.Total == v.Config.Total && len(v.Runs) == len(v.Instances) &&
			!slices.ContainsFunc(v.Items, func(i protocol.Item) bool { return i.Owner == "" })
	}).View
}

// running waits until n guests run and their items are marked.
func (c *stage) running(n int) {
	c.t.Helper()
	c.Await(fmt.Sprintf("%d guests", n), func(s cluster.State) bool { return len(s.Guests) == n && marks(s.View) == n })
}

// stored waits until the history has n rows of successful runs, and nothing runs.
func (c *stage) stored(n int) []trace.Row {
	c.t.Helper()
	return c.Await(fmt.Sprintf("%d rows", n), func(s cluster.State) bool { return succeeded(s.Rows) == n && marks(s.View) == 0 }).Rows
}

func marks(v *protocol.View) (n int) {
	for _, i := range v.Items {
		if i.Running != 0 {
			n++
		}
	}
	return n
}

func succeeded(rows []trace.Row) (n int) {
	for _, r := range rows {
		if r.State == trace.Succeeded {
			n++
		}
	}
	return n
}

func (c *stage) trigger(m *cluster.Member) {
	c.t.Helper()
	if err := m.Host.Trigger(c.t.Context(), "job"); err != nil {
		c.t.Fatal(err)
	}
}

// of returns what one member wrote between two marks: one text per transaction, with the
// names of the last nodes of its paths.
func (c *stage) of(member job.InstanceID, from, to int64) []string {
	c.t.Helper()
	session := c.session(member)
	var all []string
	for _, x := range c.server.Log() {
		if x.Session != session || x.Zxid <= from || x.Zxid >= to || x.OnlyChecks() {
			continue
		}
		counts := map[string]int{}
		for _, ch := range x.Changes {
			verb := map[zktest.ChangeKind]string{zktest.Created: "create", zktest.Set: "set", zktest.Deleted: "delete"}[ch.Kind]
			if verb != "" {
				counts[verb+" "+path.Base(ch.Path)]++
			}
		}
		var words []string
		for what, n := range counts {
			words = append(words, fmt.Sprintf("%s %d", what, n))
		}
		slices.Sort(words)
		all = append(all, strings.Join(words, ", "))
	}
	return all
}

// session returns the session in which a member joined.
func (c *stage) session(member job.InstanceID) (session int64) {
	c.t.Helper()
	for _, x := range c.server.Log() {
		for _, ch := range x.Changes {
			if ch.Kind == zktest.Created && ch.Path == c.Job().Instance(member) {
				session = x.Session
			}
		}
	}
	if session == 0 {
		c.t.Fatalf("nobody joined as %s", member)
	}
	return session
}

// If the items of a fire end together, the fire takes two transactions, however many
// items there are.
func twoTransactions(t *testing.T, c *stage) {
	guests := newCrowd()
	m := c.Start(cluster.Options{Instance: member(1), Job: manual(fireItems), Adjust: func(o *host.Options) { o.Runner = guests }})
	c.calm(member(1))
	// On a busy machine ends may be separated that should come together.
	const fires = 5
	for k := range fires {
		ends := c.fire(m, guests, k)
		if ends == 1 {
			return
		}
		t.Logf("%d transactions for %d ends", ends, fireItems)
	}
	t.Errorf("in none of %d fires the ends are one transaction", fires)
}

// fire runs all items once, and counts the transactions for their ends.
func (c *stage) fire(m *cluster.Member, guests *crowd, before int) (ends int) {
	c.t.Helper()
	guests.reset(true)
	from := c.Mark()
	c.trigger(m)
	c.Await("the runs", func(s cluster.State) bool { return marks(s.View) == fireItems })
	guests.mu.Lock()
	guests.await(func() bool { return guests.started[member(1)] == fireItems })
	guests.mu.Unlock()
	begun := c.Mark()
	guests.release()
	c.stored((before + 1) * fireItems)
	request, begin := "set 10.0.0.1@-@1 1, set wasm 1", "create running 100, set 10.0.0.1@-@1 2, set wasm 1"
	if d := cmp.Diff([]string{request, begin}, c.of(member(1), from, begun)); d != "" {
		c.t.Error(d)
	}
	left := fireItems
	for _, x := range c.of(member(1), begun, c.Mark()) {
		n, _, _ := strings.Cut(strings.TrimPrefix(x, "delete running "), ",")
		k, err := strconv.Atoi(n)
		if err != nil {
			c.t.Errorf("a transaction of another kind: %s", x)
		}
		ends, left = ends+1, left-k
	}
	if left != 0 {
		c.t.Errorf("%d ends are missing", left)
	}
	return ends
}

// The strategy of the configuration, by any of its names, decides where items are, and
// they move in one transaction.
func strategies(t *testing.T, c *stage) {
	ids := []job.InstanceID{member(1), member(2), member(3)}
	for _, name := range []string{"", "com.dangdang.ddframe.job.lite.api.strategy.impl.OdevitySortByNameJobShardingStrategy", "ROUND_ROBIN"} {
		t.Run(name, func(t *testing.T) {
			s := &stage{Cluster: cluster.New(t, c.server, "strategies-"+name, "job"), t: t, server: c.server}
			config := manual(8)
			config.Strategy = name
			var to int64
			for k, id := range ids {
				s.Start(cluster.Options{Instance: id, Job: config})
				s.calm(ids[:k+1]...)
			}
			v := s.calm(ids...)
			to = s.Mark()
			st, err := strategy.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]job.InstanceID, config.Shards)
			descending := []string{string(ids[2]), string(ids[1]), string(ids[0])}
			assigned, err := st.Assign(t.Context(), strategy.Request{Job: "job", Instances: descending, Total: config.Shards})
			if err != nil {
				t.Fatal(err)
			}
			for k, items := range assigned {
				for _, i := range items {
					want[i] = job.InstanceID(descending[k])
				}
			}
			for i, item := range v.Items {
				if item.Owner != want[i] {
					t.Errorf("item %d is at %s, want %s", i, item.Owner, want[i])
				}
			}
			for _, id := range ids {
				for _, x := range s.of(id, 0, to) {
					if strings.Contains(x, " instance ") && !strings.Contains(x, "delete necessary") && !strings.Contains(x, "create instance 1") {
						t.Errorf("%s deals out in more than one transaction: %s", id, x)
					}
				}
			}
		})
	}
}

// The leader dies while a reshard is requested. The others wait without writing anything,
// until one of them leads and carries it out.
func leaderDies(t *testing.T, c *stage) {
	config := manual(6)
	leader := c.Start(cluster.Options{Instance: member(1), Job: config, Session: mortal})
	other := c.Start(cluster.Options{Instance: member(2), Job: config})
	c.Start(cluster.Options{Instance: member(3), Job: config})
	if v := c.calm(member(1), member(2), member(3)); v.Leader != member(1) {
		t.Fatalf("%s leads", v.Leader)
	}
	leader.Kill()
	if err := other.Host.Reshard(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	asked := c.Mark()
	c.Await("the end of the leader", func(s cluster.State) bool { return s.View.Leader != member(1) })
	c.calm(member(2), member(3))
	done := c.Mark()
	var end int64
	for _, x := range c.server.Log() {
		if slices.ContainsFunc(x.Changes, func(ch zktest.Change) bool {
			return ch.Kind == zktest.Deleted && ch.Path == c.Job().Instance(member(1))
		}) {
			end = x.Zxid
		}
	}
	reshards := 0
	for _, id := range []job.InstanceID{member(2), member(3)} {
		if all := c.of(id, asked, end); len(all) != 0 {
			t.Errorf("%s, while it waits: %q", id, all)
		}
		for _, x := range c.of(id, end, done) {
			if strings.Contains(x, "delete necessary") {
				reshards++
			}
		}
	}
	if reshards != 1 {
		t.Errorf("%d reshards", reshards)
	}
}

// The job repairs what an operator removed or left behind: it restores an owner,
// deletes a mark that no session holds, and goes on.
func repairs(t *testing.T, c *stage) {
	m := c.Start(cluster.Options{Instance: member(1), Job: manual(3)})
	c.calm(member(1))
	var owners, running []string
	c.Tree(c.Job().Root(), func(p string, _ registry.Node) {
		if path.Base(p) == "instance" && path.Base(path.Dir(p)) != "election" {
			owners, running = append(owners, p), append(running, path.Dir(p)+"/running")
		}
	})
	if len(owners) != 3 {
		t.Fatalf("owners at %q", owners)
	}
	c.Write(registry.Op{Kind: registry.Delete, Path: owners[1], Version: registry.AnyVersion})
	c.Await("a missing owner", func(s cluster.State) bool { return s.View.Items[1].OwnerVer == 0 })
	c.calm(member(1))
	c.Write(registry.Op{Kind: registry.Create, Path: running[2]})
	c.trigger(m)
	c.stored(3)
}

// A member whose connection was cut and restored writes nothing for that, and its guests
// go on.
func connectionCut(t *testing.T, c *stage) {
	m := c.Start(cluster.Options{Instance: member(1), Job: manual(4)})
	c.calm(member(1))
	c.Hold()
	c.trigger(m)
	c.running(4)
	from := c.Mark()
	m.Cut()
	if err := m.Host.DisableItem(t.Context(), "job", 3); err != nil { // it has a connection again
		t.Fatal(err)
	}
	c.Await("the item disabled", func(s cluster.State) bool { return s.View.Items[3].Disabled })
	if d := cmp.Diff([]string{"create disabled 1, set wasm 1"}, c.of(member(1), from, c.Mark())); d != "" {
		t.Error(d)
	}
	c.End()
	for _, r := range c.stored(4) {
		if r.Attempt != 1 {
			t.Errorf("item %d in attempt %d", r.Item, r.Attempt)
		}
	}
}

// A member whose session ended comes back under another name and gets its share again.
// Its runs ran elsewhere, once.
func sessionExpires(t *testing.T, c *stage) {
	m := c.Start(cluster.Options{Instance: member(1), Job: manual(4), Session: mortal})
	other := c.Start(cluster.Options{Instance: member(2), Job: manual(4)})
	c.calm(member(1), member(2))
	c.Hold()
	c.trigger(m)
	c.running(4)
	m.Freeze()
	c.Await("the end of the session", func(s cluster.State) bool { return len(s.View.Instances) == 1 })
	c.Await("the take-over", func(s cluster.State) bool {
		return len(s.Guests) == 4 && marks(s.View) == 4 && alone(s.Guests, member(2))
	})
	m.Thaw()
	var back job.InstanceID // from the registry; the host may report it a moment later
	c.Await("the return", func(s cluster.State) bool {
		for _, in := range s.View.Instances {
			if in.ID != member(2) {
				back = in.ID
			}
		}
		return len(s.View.Instances) == 2
	})
	c.End()
	rows := c.stored(4)
	if back == member(1) || back.IP() != member(1).IP() {
		t.Errorf("it came back as %s", back)
	}
	c.calm(back, member(2))
	seen := map[string]int{}
	for _, r := range rows {
		if r.State == trace.Succeeded {
			seen[fmt.Sprintf("item %d of %s", r.Item, r.Run)]++
		}
	}
	for run, n := range seen {
		if n != 1 {
			t.Errorf("%s succeeded %d times", run, n)
		}
	}
	c.Release()
	c.trigger(other)
	c.stored(8)
}

func alone(guests []job.Call, id job.InstanceID) bool {
	return !slices.ContainsFunc(guests, func(g job.Call) bool { return g.Instance != id })
}

// An operator's request to one member holds for all members, and is written as
// ElasticJob's console writes it.
func operators(t *testing.T, c *stage) {
	one := c.Start(cluster.Options{Instance: member(1), Job: manual(4)})
	two := c.Start(cluster.Options{Instance: member(2), Job: manual(4)})
	c.calm(member(1), member(2))
	ctx := t.Context()
	steps := []struct {
		what  string
		do    func() error
		wrote string
		runs  int // guests of a subsequent trigger
	}{
		{"disable an item", func() error { return one.Host.DisableItem(ctx, "job", 1) }, "create disabled 1, set wasm 1", 3},
		{"enable it", func() error { return one.Host.EnableItem(ctx, "job", 1) }, "delete disabled 1, set wasm 1", 4},
		{"disable a server", func() error { return one.Host.DisableServer(ctx, "job", "10.0.0.2") }, "set 10.0.0.2 1, set wasm 1", 4},
		{"enable it", func() error { return one.Host.EnableServer(ctx, "job", "10.0.0.2") }, "set 10.0.0.2 1, set wasm 1", 4},
	}
	total := 0
	for k, s := range steps {
		from := c.Mark()
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
		members := []job.InstanceID{member(1), member(2)}
		if k == 2 {
			members = members[:1]
		}
		c.calm(members...)
		if got := c.of(member(1), from, c.Mark()); !slices.Contains(got, s.wrote) {
			t.Errorf("%s: wrote %q, want %q", s.what, got, s.wrote)
		}
		total += s.runs
		c.trigger(two)
		c.stored(total)
	}
	// If an operator removes an instance, its server shuts the job down.
	c.Write(registry.Op{Kind: registry.Delete, Path: c.Job().Instance(member(2)), Version: registry.AnyVersion})
	c.calm(member(1))
	c.trigger(one)
	c.stored(total + 4)
}

// A member that joins while runs are open gets the free items at once, and the rest when
// the runs are over.
func lateForTheAssignment(t *testing.T, c *stage) {
	m := c.Start(cluster.Options{Instance: member(1), Job: manual(4)})
	c.calm(member(1))
	c.Hold()
	c.trigger(m)
	c.running(4)
	c.Start(cluster.Options{Instance: member(2), Job: manual(4)})
	c.Await("a reshard that waits", func(s cluster.State) bool { return s.View.Necessary && len(s.View.Members) == 2 })
	for i, item := range c.State().View.Items {
		if item.Owner != member(1) {
			t.Errorf("item %d moved to %s while it ran", i, item.Owner)
		}
	}
	c.End()
	c.calm(member(1), member(2))
	c.stored(4)
}
