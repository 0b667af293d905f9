package golden

import (
	"container/heap"
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
	"github.com/wasmjob/wasmjob/strategy"
)

// cluster is one job with members of ours on one tree. All members see a write before
// time goes on.
type cluster struct {
	t        testing.TB
	job      layout.Layout
	top      string
	tree     *tree.Tree
	epoch    int64
	now      int64 // ms since the recording began
	queue    agenda
	seq      int
	sessions registry.SessionID
	members  []*member // in the order in which they act
	log      []entry
	config   []byte
	guest    int64 // duration of a guest, ms
	listens  bool  // members that start later have listeners of fires
	events   []string
	faults   []string
}

type member struct {
	c       *cluster
	name    string
	session registry.SessionID
	state   *protocol.State
	mirror  *mirror.Mirror
	decoder layout.Decoder
	inbox   []protocol.Input
	owed    bool // a commit was answered, so the next view is shown
	shown   bool
	over    bool // the process is gone
	ticker  int
}

// due is a function for a time. Functions for the same time run in the order in which
// they were added.
type due struct {
	at  int64
	seq int
	do  func()
}

type agenda []due

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(due)) }
func (a *agenda) Pop() any {
	old := *a
	x := old[len(old)-1]
	*a = old[:len(old)-1]
	return x
}

func newCluster(t testing.TB, r *recording, config []byte, guest int64) *cluster {
	return &cluster{
		t: t, job: layout.NewJob(r.Namespace, "job"), top: r.top, tree: tree.New(), epoch: r.Epoch,
		config: config, guest: guest,
	}
}

func (c *cluster) at(t int64, do func()) {
	c.seq++
	heap.Push(&c.queue, due{max(t, c.now), c.seq, do})
}

// until advances time to t.
func (c *cluster) until(t int64) {
	c.t.Helper()
	for len(c.queue) > 0 && c.queue[0].at <= t {
		d := heap.Pop(&c.queue).(due)
		c.now = d.at
		d.do()
		c.settle()
	}
	c.now = t
}

// settle lets members act, one after the other, until none has anything to do.
func (c *cluster) settle() {
	c.t.Helper()
	for range 10_000 {
		if !slices.ContainsFunc(slices.Clone(c.members), (*member).turn) {
			return
		}
	}
	c.t.Fatalf("the members do not come to rest at %d", c.now)
}

// first makes a member act before all others. Where two members race, the recording shows
// which one won.
func (c *cluster) first(name string) {
	m := c.member(name)
	c.members = slices.DeleteFunc(c.members, func(o *member) bool { return o == m })
	c.members = slices.Insert(c.members, 0, m)
}

func (c *cluster) member(name string) *member {
	c.t.Helper()
	for _, m := range c.members {
		if m.name == name {
			return m
		}
	}
	c.t.Fatalf("there is no member %s at %d", name, c.now)
	return nil
}

func (c *cluster) start(name, id string) {
	c.sessions++
	m := &member{
		c: c, name: name, session: c.sessions,
		mirror: mirror.New(c.job.Root(), c.job.Watched(), c.job.Below), decoder: c.job.NewDecoder(nil),
		state: protocol.NewState(protocol.Options{Base: protocol.ID(id), Session: int64(c.sessions), Contender: spelling.Contender(int64(c.sessions)), Define: protocol.Definition{Config: spelling.Text(c.config)}, ReshardWait: 5000, Started: c.listens, Completed: c.listens}),
	}
	// Package runner creates the namespace before the core is asked.
	for _, p := range c.job.Namespace() {
		if !c.tree.Get(p).Exists {
			c.write(m, registry.Op{Kind: registry.Create, Path: p})
		}
	}
	c.members = append(c.members, m)
}

// kill ends the process; its session goes on until expire.
func (c *cluster) kill(name string) { c.member(name).over = true }

func (c *cluster) expire(name string) {
	m := c.member(name)
	if !m.over {
		c.t.Fatalf("%s is alive at %d", name, c.now)
	}
	c.endSession(m)
}

func (c *cluster) endSession(m *member) {
	c.members = slices.DeleteFunc(c.members, func(o *member) bool { return o == m })
	changes := c.tree.EndSession(m.session, c.epoch+c.now)
	c.note(entry{by: string(m.state.Self()), end: true}, changes)
}

// write commits a transaction of a member or of an operator, and notifies the watchers.
func (c *cluster) write(m *member, ops ...registry.Op) (registry.Receipt, error) {
	e := entry{}
	owner := registry.SessionID(0)
	if m != nil {
		owner, e.by = m.session, string(m.state.Self())
	}
	receipt, changes, err := c.tree.Commit(owner, c.epoch+c.now, ops)
	if err == nil {
		c.note(e, changes)
	}
	return receipt, err
}

// note notifies the mirrors of a transaction, and adds it to the log if the job has its nodes.
func (c *cluster) note(e entry, changes []tree.Change) {
	e.at, e.z = c.now, c.tree.Revision()
	for _, ch := range changes {
		for _, m := range c.members {
			m.mirror.Event(registry.Event{Kind: registry.Changed, Path: ch.Path})
		}
		n, ok := nodeOf(c.top, ch.Path)
		if !ok || ch.Kind == tree.ChildrenChanged {
			continue
		}
		if k := slices.IndexFunc(e.touched, func(t touch) bool { return t.node == n }); k >= 0 {
			e.touched[k].state = stateOf(ch.Node)
			continue
		}
		e.touched = append(e.touched, touch{node: n, state: stateOf(ch.Node)})
	}
	if len(e.touched) > 0 {
		c.log = append(c.log, e)
	}
}

func stateOf(n registry.Node) state {
	return state{exists: n.Exists, ephemeral: n.Stat.Owner != 0, data: string(n.Data)}
}

func (c *cluster) world() world {
	w := world{}
	c.tree.Walk("/", func(path string, n registry.Node) bool {
		if k, ok := nodeOf(c.top, path); ok && path != "/" {
			w[k] = stateOf(n)
		}
		return true
	})
	return w
}

// turn lets a member take one step, if it has a reason to.
func (m *member) turn() bool {
	if m.over {
		return false
	}
	for reads := m.mirror.Wanted(); len(reads) > 0; reads = m.mirror.Wanted() {
		for _, r := range reads {
			m.mirror.Reply(r, m.c.tree.Get(r.Path))
		}
	}
	if len(m.inbox) > 0 {
		in := m.inbox[0]
		m.inbox = m.inbox[1:]
		m.step(in)
		return true
	}
	if !m.mirror.Settled() {
		return false
	}
	changes := m.mirror.Changes()
	if len(changes) == 0 && !m.owed && m.shown {
		return false
	}
	for _, ch := range changes {
		m.decoder.Apply(ch.Path, ch.Node)
	}
	v := m.state.View()
	if len(changes) > 0 || v == nil {
		v = m.decoder.View()
	}
	m.owed, m.shown = false, true
	m.step(protocol.Observed{View: v})
	return true
}

func (m *member) step(in protocol.Input) {
	c := m.c
	p := protocol.Step(m.state, c.epoch+c.now, in)
	for _, e := range p.Effects {
		m.effect(e)
	}
	if p.Commit == nil || m.over {
		return
	}
	receipt, err := c.write(m, c.job.Encode(p.Commit, m.state.View())...)
	answer := protocol.Committed{Plan: p.ID, Outcome: protocol.Applied, Revision: receipt.Revision}
	if err != nil {
		// With one order and no lag, no member decides on a stale view.
		c.faults = append(c.faults, m.name+": "+p.Commit.Name()+": "+err.Error())
		answer.Outcome = protocol.Refused
	}
	m.owed = true
	m.inbox = append(m.inbox, answer)
}

func (m *member) effect(e protocol.Effect) {
	c := m.c
	switch e := e.(type) {
	case protocol.Run:
		c.at(c.now+c.guest, func() {
			m.inbox = append(m.inbox, protocol.Finished{{Entry: e.Entry, State: protocol.Succeeded}})
		})
	case protocol.Cancel:
		c.faults = append(c.faults, m.name+": cancels item "+strconv.Itoa(e.Item)+": "+e.Why.String())
	case protocol.Drain:
		c.faults = append(c.faults, m.name+": drains: "+e.Why.String())
	case protocol.Assign:
		m.inbox = append(m.inbox, assign(c.t, e.Request))
	case protocol.Reschedule:
		m.reschedule(e.Cron)
	case protocol.Store:
		m.inbox = append(m.inbox, protocol.Stored{Upto: e.Rows[len(e.Rows)-1].Seq})
	case protocol.Wake:
		c.at(e.At-c.epoch, func() { m.inbox = append(m.inbox, protocol.Elapsed{}) })
	case protocol.Reread:
		m.mirror.Reread()
	case protocol.Sync:
		m.owed = true
	case protocol.Stop:
		m.over = true
		c.endSession(m)
	case protocol.Listen:
		c.events = append(c.events, string(e.Event))
		c.at(c.now+1, func() {
			m.inbox = append(m.inbox, protocol.CallEnded{Event: e.Event, Instant: e.Instant, Attempt: e.Attempt})
		})
	case protocol.Answer, protocol.Note, protocol.EndCall, protocol.Prepare, protocol.Recall, protocol.DeleteRest:
	}
}

func assign(t testing.TB, r protocol.AssignRequest) protocol.Assigned {
	st, err := strategy.Named(r.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(r.Instances))
	for i, id := range r.Instances {
		ids[i] = string(id)
	}
	items, err := st.Assign(context.Background(), strategy.Request{Job: "job", Instances: ids, Total: r.Total, Previous: r.Previous})
	if err != nil {
		t.Fatal(err)
	}
	return protocol.Assigned{Request: r, Items: items}
}

// reschedule ticks at the multiples of the period.
func (m *member) reschedule(cron string) {
	m.ticker++
	if p := period(cron); p > 0 {
		m.tick(m.ticker, p, (m.c.epoch+m.c.now)/p*p+p)
	}
}

func (m *member) tick(ticker int, period, instant int64) {
	m.c.at(instant-m.c.epoch, func() {
		if m.over || m.ticker != ticker {
			return
		}
		m.inbox = append(m.inbox, protocol.Tick{At: instant, Prev: instant - period})
		m.tick(ticker, period, instant+period)
	})
}

// period returns the period in ms of the recorded crons: "0/n * * * * ?", or a date that
// never comes.
func period(cron string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(cron, "0/"), " * * * * ?"), 10, 64)
	if err != nil {
		return 0
	}
	return n * 1000
}
