package cluster_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/strategy"
)

// The benchmarks measure complete hosts on a real ZooKeeper, in turns with the requests
// that ElasticJob would make (rival). They report the medians of the turns.

// serving starts a server that syncs each transaction to disk, as servers outside tests
// do.
func serving(b *testing.B, tick time.Duration, java ...string) *zktest.Server {
	b.Helper()
	return zktest.Start(b, zktest.Debian(b), zktest.Options{Tick: tick, Lines: []string{"forceSync=yes"}, Java: java})
}

// allCompilers is for servers that answer many requests before the measurement. They then
// perform like a server that has run for days.
const allCompilers = "-XX:TieredStopAtLevel=4"

// direct returns a registry without a proxy, which would slow it down.
func direct(b *testing.B, server *zktest.Server) *zk.Registry {
	b.Helper()
	r, err := zk.New(zk.Options{Servers: []string{server.Address()}, SessionTimeout: cluster.LongSession})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := r.Close(); err != nil {
			b.Error(err)
		}
	})
	return r
}

// sight is a session that waits for a node.
type sight struct {
	b       *testing.B
	session registry.Session
	path    string

	mu      sync.Mutex // guards changed
	changed chan struct{}
}

func newSight(b *testing.B, server *zktest.Server, path string) *sight {
	b.Helper()
	w := &sight{b: b, path: path, changed: make(chan struct{})}
	s, err := direct(b, server).Open(b.Context(), func(registry.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		close(w.changed)
		w.changed = make(chan struct{})
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Follow(b.Context(), path); err != nil {
		b.Fatal(err)
	}
	w.session = s
	return w
}

// await waits until is reports true for the node.
func (w *sight) await(is func(registry.Node) bool) {
	w.b.Helper()
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if is(w.read()) {
			return
		}
		select {
		case <-changed:
		case <-time.After(time.Minute):
			w.b.Fatalf("waited in vain at %s", w.path)
		}
	}
}

func (w *sight) read() registry.Node {
	w.b.Helper()
	n, err := w.session.Read(w.b.Context(), w.path)
	if err != nil {
		w.b.Fatal(err)
	}
	return n
}

// node returns the path of a node that all members follow.
func node(b *testing.B, c *cluster.Cluster, name string) string {
	b.Helper()
	names := c.Job().Watched()
	k := slices.IndexFunc(names, func(n string) bool { return path.Base(n) == name })
	if k < 0 {
		b.Fatalf("nobody follows %s", name)
	}
	return c.Job().At(names[k])
}

// settled waits until all members know the owner of every item, and the first item has an
// owner other than before. It returns that owner.
func settled(b *testing.B, members []*cluster.Member, items int, before job.InstanceID) job.InstanceID {
	b.Helper()
	again := time.NewTicker(time.Duration(2+items/200) * time.Millisecond) // reading many items is itself expensive
	defer again.Stop()
	owner := job.InstanceID("")
	for _, m := range members {
		for range again.C {
			s := m.Host.Jobs()[0]
			if len(s.Items) == items && len(s.Instances) == len(members) && s.Items[0].Owner != "" && s.Items[0].Owner != before {
				owner = s.Items[0].Owner
				break
			}
		}
	}
	return owner
}

func middle(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func member(k int) job.InstanceID { return job.InstanceID(fmt.Sprintf("10.0.0.%d@-@1", k)) }

// turn is a strategy that moves each item to the instance after its owner. Half of the
// items go to an instance that had none.
func turn(ctx context.Context, r strategy.Request) ([][]int, error) {
	items := make([][]int, len(r.Instances))
	for k, some := range r.Previous {
		if len(some) == 0 {
			return strategy.Average(ctx, r)
		}
		items[(k+1)%len(items)] = some
	}
	return items, nil
}

// BenchmarkReshard assigns all items anew, each to another owner. It measures from the
// operator's request to the end of the transaction that deletes the mark, and then waits
// until both members can begin their items. The largest job would take the rival minutes,
// and ElasticJob cannot assign so many items at all.
func BenchmarkReshard(b *testing.B) {
	server := serving(b, time.Second)
	for _, items := range []int{1_000, 10_000, 50_000} {
		b.Run(fmt.Sprint(items), func(b *testing.B) { reshard(b, server, items) })
	}
}

// rivalItems is how many items the rival assigns.
const rivalItems = 10_000

func reshard(b *testing.B, server *zktest.Server, items int) {
	if items > rivalItems && testing.Short() {
		b.Skip("it takes a minute to join a job of so many items")
	}
	theirs := newRival(b, server.Address(), fmt.Sprint(items), 2)
	name := fmt.Sprintf("reshard-%d", items)
	c := cluster.New(b, server, name, "job")
	mark := newSight(b, server, node(b, c, "necessary"))
	var members []*cluster.Member
	for k := range 2 {
		members = append(members, c.Start(cluster.Options{
			Instance: member(k + 1), Job: job.Config{Name: "job", Shards: items, Strategy: "turn", MonitorExecution: true},
			Adjust: func(o *host.Options) {
				o.Registry = direct(b, server)
				o.Strategies = map[string]strategy.Strategy{"turn": strategy.Func(turn)}
			},
		}))
	}
	owner := settled(b, members, items, member(1)) // the second member has it, as ids descend
	compared := items <= rivalItems
	if compared {
		theirs.reshard(items) // the first reshard creates the nodes
	}
	var our, their, ready []float64
	for b.Loop() {
		began := time.Now()
		if err := members[0].Host.Reshard(b.Context(), "job"); err != nil {
			b.Fatal(err)
		}
		mark.await(func(n registry.Node) bool { return !n.Exists })
		our = append(our, ms(time.Since(began)))
		owner = settled(b, members, items, owner)
		ready = append(ready, ms(time.Since(began)))
		if !compared {
			continue
		}
		began = time.Now()
		theirs.reshard(items)
		their = append(their, ms(time.Since(began)))
		theirs.settle()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(our), "ms")
	b.ReportMetric(middle(ready), "ms/all-know")
	if !compared {
		return
	}
	b.ReportMetric(middle(their), "ms/elasticjob")
	b.ReportMetric(middle(their)/middle(our), "x_faster>=30")
}

// crowd counts the guests of one or more members, and their rows.
type crowd struct {
	mu      sync.Mutex // guards the fields below
	started map[job.InstanceID]int
	last    time.Time     // when the last guest was started
	rows    int           // stored
	hold    chan struct{} // guests wait until it is closed; nil: they do not wait
	changed *sync.Cond
}

func newCrowd() *crowd {
	w := &crowd{started: map[job.InstanceID]int{}}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// Run is the guest.
func (w *crowd) Run(ctx context.Context, c job.Call) job.Outcome {
	w.mu.Lock()
	w.started[c.Instance]++
	w.last = time.Now()
	hold := w.hold
	w.changed.Broadcast()
	w.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return job.Outcome{Verdict: job.Stopped}
		}
	}
	return job.Outcome{Verdict: job.OK}
}

// Write is the history.
func (w *crowd) Write(_ context.Context, batch []trace.Row) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows += len(batch)
	w.changed.Broadcast()
	return nil
}

// await waits until is reports true. w.mu is held.
func (w *crowd) await(is func() bool) {
	for !is() {
		w.changed.Wait()
	}
}

// reset restarts the count; hold makes new guests wait.
func (w *crowd) reset(hold bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started, w.rows, w.hold = map[job.InstanceID]int{}, 0, nil
	if hold {
		w.hold = make(chan struct{})
	}
}

// release lets waiting guests end.
func (w *crowd) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hold != nil {
		close(w.hold)
		w.hold = nil
	}
}

const (
	fireItems = 100
	// warmTurns are not measured: a server that was just started still compiles its code,
	// and the rival's turn sends it many more requests.
	warmTurns = 200
	fireTurns = 15 // per round
)

// nothing is a guest that does nothing.
func nothing(context.Context, job.Call) job.Outcome { return job.Outcome{Verdict: job.OK} }

// BenchmarkFire begins and ends runs of 100 items that do nothing. It measures from the
// operator's request to the last row in the history. For the rival it counts only the
// request and the marks, not other reads.
func BenchmarkFire(b *testing.B) {
	server := serving(b, time.Second, allCompilers)
	theirs := newRival(b, server.Address(), "fire", 1)
	for i := range fireItems {
		theirs.create(theirs.item(i), "", 0)
	}
	c := cluster.New(b, server, "fire", "job")
	rows := newCrowd()
	m := c.Start(cluster.Options{
		Instance: member(1), Job: job.Config{Name: "job", Shards: fireItems, MonitorExecution: true},
		Adjust: func(o *host.Options) {
			o.Registry, o.Runner, o.Sinks = direct(b, server), host.Func(nothing), []trace.Sink{rows}
		},
	})
	settled(b, []*cluster.Member{m}, fireItems, "")
	var our, their []float64
	fire := func() {
		rows.reset(false)
		began := time.Now()
		if err := m.Host.Trigger(b.Context(), "job"); err != nil {
			b.Fatal(err)
		}
		rows.mu.Lock()
		rows.await(func() bool { return rows.rows == fireItems })
		rows.mu.Unlock()
		our = append(our, ms(time.Since(began)))
		began = time.Now()
		theirs.request()
		theirs.fire(fireItems)
		their = append(their, ms(time.Since(began)))
		theirs.settle()
	}
	for range warmTurns {
		fire()
	}
	our, their = nil, nil
	for b.Loop() {
		for range fireTurns {
			fire()
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(our), "ms")
	b.ReportMetric(middle(their), "ms/elasticjob")
	b.ReportMetric(middle(their)/middle(our), "x_faster>=25")
}

// BenchmarkLeave stops a member that owns 50 of 100 items. It measures from the request to
// the transaction that gives all items to the other member.
func BenchmarkLeave(b *testing.B) {
	server := serving(b, time.Second)
	c := cluster.New(b, server, "leave", "job")
	assignment := newSight(b, server, node(b, c, "assignment"))
	start := func(id job.InstanceID) *cluster.Member {
		return c.Start(cluster.Options{
			Instance: id, Job: job.Config{Name: "job", Shards: fireItems, MonitorExecution: true},
			Adjust: func(o *host.Options) { o.Registry = direct(b, server) },
		})
	}
	left := start(member(1))
	var took []float64
	for k := 0; b.Loop(); k++ {
		m := start(job.InstanceID(fmt.Sprintf("10.0.0.2@-@%d", k)))
		settled(b, []*cluster.Member{left, m}, fireItems, member(1))
		before := assignment.read().Stat.Version
		began := time.Now()
		m.Leave()
		assignment.await(func(n registry.Node) bool { return n.Stat.Version >= before+2 })
		took = append(took, ms(time.Since(began)))
		m.Stop()
		settled(b, []*cluster.Member{left}, fireItems, "")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(took), "ms-p50<=30")
}
