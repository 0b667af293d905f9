package protocol_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// cluster is one job, its real tree in the shipped layout, and members that take a step
// only when the script says so. A member that does not observe acts on what it saw before.
type cluster struct {
	tree     *tree.Tree
	job      layout.Layout
	config   job.Config
	now      int64
	members  map[string]*member
	order    []*member
	me       *member
	watcher  eye
	sessions registry.SessionID
	prefer   []string // owners of item 0, 1, … that the strategy returns

	printed []string
	stepped bool // a member took a step, so no output means that it does nothing
	quiet   bool // while calming: only the names of commits are printed
	commits []string
	frozen  []frozen
	asks    int64
}

// eye sees the tree as a member does: through a mirror and the decoder.
type eye struct {
	mirror  *mirror.Mirror
	decoder layout.Decoder
	view    *protocol.View
}

// member is a state of the core with what the runner would keep for it.
type member struct {
	eye
	name    string
	session registry.SessionID
	state   *protocol.State
	shown   *protocol.View // the view that was published to it last
	flight  *flight
	late    []registry.Op            // operations that arrive late
	asked   []protocol.AssignRequest // questions to the strategy without an answer
	guests  map[int]protocol.Entry
	handed  int64 // rows given to the history

	listening protocol.Listen // its newest call of a listener
	stored    int64
	plans     int64
	over      bool
}

type flight struct {
	plan int64
	m    protocol.Mutation
	ops  []registry.Op
}

func newCluster() *cluster {
	c := &cluster{tree: tree.New(), job: layout.NewJob("ns", "job"), members: map[string]*member{}, now: 100_000}
	c.config = job.Config{Name: "job", Kind: job.Simple, Cron: "every-10s", Shards: 1, MonitorExecution: true, MaxClockSkew: -1}
	for _, p := range c.job.Namespace() {
		c.write(registry.Op{Kind: registry.Create, Path: p})
	}
	c.watcher = c.newEye()
	return c
}

func (c *cluster) newEye() eye {
	return eye{mirror: mirror.New(c.job.Root(), c.job.Watched(), c.job.Below), decoder: c.job.NewDecoder(nil)}
}

// look brings an eye up to date.
func (c *cluster) look(e *eye) *protocol.View {
	e.mirror.Reread()
	for reads := e.mirror.Wanted(); len(reads) > 0; reads = e.mirror.Wanted() {
		for _, r := range reads {
			e.mirror.Reply(r, c.tree.Get(r.Path))
		}
	}
	changes := e.mirror.Changes()
	for _, ch := range changes {
		e.decoder.Apply(ch.Path, ch.Node)
	}
	if len(changes) > 0 || e.view == nil {
		before := e.view
		e.view = e.decoder.View()
		if items := e.view.Unclear(before); len(items) > 0 {
			for _, i := range items {
				e.mirror.Once(c.job.ItemNode(i))
			}
			return c.look(e)
		}
	}
	return e.view
}

// write is a transaction of a client that is no member.
func (c *cluster) write(ops ...registry.Op) error {
	_, _, err := c.tree.Commit(0, c.now, ops)
	return err
}

// tool writes what an operator's tool would, on a current view.
func (c *cluster) tool(m protocol.Mutation) error {
	return c.write(c.job.Encode(m, c.look(&c.watcher))...)
}

// encoded is the text of the cluster's configuration.
func (c *cluster) encoded() protocol.Spelled {
	spelled, err := c.job.Spell(protocol.Definition{}, c.job.Define(c.config))
	if err != nil {
		panic(err) // the script's own settings
	}
	return spelled.Config
}

// moduleText returns a script's text of a module; nil if it is empty.
func moduleText(text string) protocol.Spelled {
	if text == "" {
		return nil
	}
	return spelling.Text([]byte(text))
}

func (c *cluster) join(name string, o protocol.Options) {
	c.sessions++
	o.Base, o.Session, o.Contender = idOf(name), int64(c.sessions), spelling.Contender(int64(c.sessions))
	if o.Define.Config != nil {
		o.Define.Config = c.encoded()
	}
	m := &member{eye: c.newEye(), name: name, session: c.sessions, state: protocol.NewState(o), guests: map[int]protocol.Entry{}}
	c.members[name] = m
	c.order = append(c.order, m)
	if c.me == nil {
		c.me = m
	}
}

// die ends a member and its session.
func (c *cluster) die(m *member) {
	m.over = true
	c.tree.EndSession(m.session, c.now)
	delete(c.members, m.name)
	c.order = slices.DeleteFunc(c.order, func(o *member) bool { return o == m })
	if c.me == m {
		c.me = nil
		if len(c.order) > 0 {
			c.me = c.order[0]
		}
	}
}

// observe publishes what the member sees by now.
func (c *cluster) observe(m *member) error {
	c.glance(m)
	return c.step(m, protocol.Observed{View: m.shown})
}

// glance updates a member's mirror without showing the core the view.
func (c *cluster) glance(m *member) {
	before := m.view
	if v := c.look(&m.eye); v != before {
		m.shown = c.publish(v)
	}
}

// step gives the member one input and keeps what the runner would.
func (c *cluster) step(m *member, in protocol.Input) error {
	p := protocol.Step(m.state, c.now, in)
	if protocol.RulesWrite(m.state) {
		return errors.New("a rule changes the State, which is for Step to do")
	}
	c.keepPlan(p)
	for _, e := range p.Effects {
		c.keep(m, e)
	}
	if p.Commit != nil {
		if m.flight != nil {
			return errors.New("a second commit while one is in flight")
		}
		if m.plans++; p.ID != m.plans {
			return fmt.Errorf("plan %d has the number %d", m.plans, p.ID)
		}
		m.flight = &flight{plan: p.ID, m: p.Commit, ops: c.job.Encode(p.Commit, m.state.View())}
	}
	if c.quiet {
		if p.Commit != nil {
			c.commits = append(c.commits, m.name+": "+p.Commit.Name())
		}
		return nil
	}
	c.stepped = true
	c.print(m, &p)
	return c.unchanged(4)
}

func (c *cluster) keep(m *member, e protocol.Effect) {
	switch e := e.(type) {
	case protocol.Run:
		m.guests[e.Entry.Item] = e.Entry
	case protocol.Listen:
		m.listening = e
	case protocol.Assign:
		m.asked = append(m.asked, e.Request)
	case protocol.Store:
		m.handed = e.Rows[len(e.Rows)-1].Seq
	case protocol.Stop:
		c.die(m)
	default: // other effects need nothing later
	}
}

// apply answers the commit in flight, and shows its member the result.
func (c *cluster) apply(m *member) error {
	if err := c.answer(m); err != nil || m.over {
		return err
	}
	return c.observe(m)
}

// answer applies the commit in flight, and gives its member the answer.
func (c *cluster) answer(m *member) error {
	f, err := m.sent()
	if err != nil {
		return err
	}
	receipt, _, err := c.tree.Commit(m.session, c.now, f.ops)
	in := protocol.Committed{Plan: f.plan, Outcome: protocol.Applied, Revision: receipt.Revision}
	if conflict, ok := errors.AsType[*registry.ConflictError](err); ok {
		in.Outcome, in.Occupied = protocol.Refused, c.job.Occupied(err)
		if c.quiet {
			return fmt.Errorf("%s was refused: %w", f.m.Name(), err)
		}
		c.say("refused: %s %s", c.nodeOf(conflict.Op.Path), conflict.Reason)
	} else if err != nil {
		return err
	}
	return c.step(m, in)
}

// strategy assigns as the script prefers, or else to the members in turn.
func (c *cluster) strategy(r protocol.AssignRequest) [][]int {
	items := make([][]int, len(r.Instances))
	for i := range r.Total {
		k := len(r.Instances) - 1 - i%len(r.Instances)
		if i < len(c.prefer) {
			for n, id := range r.Instances {
				if nameOf(id) == c.prefer[i] {
					k = n
				}
			}
		}
		items[k] = append(items[k], i)
	}
	return items
}

// calm lets all members go on until none has anything to do.
func (c *cluster) calm() error {
	c.quiet, c.commits = true, nil
	defer func() { c.quiet = false }()
	for range 1000 {
		busy := false
		for _, m := range slices.Clone(c.order) {
			did, err := c.turn(m)
			if err != nil {
				return err
			}
			busy = busy || did
		}
		if !busy {
			c.printCommits()
			return nil
		}
	}
	return errors.New("it never becomes calm")
}

// turn does one thing for a member, if there is one.
func (c *cluster) turn(m *member) (bool, error) {
	switch {
	case m.over: // it ended during the turns of others
		return false, nil
	case m.flight != nil:
		return true, c.apply(m)
	case len(m.asked) > 0:
		r := m.asked[0]
		m.asked = m.asked[1:]
		return true, c.step(m, protocol.Assigned{Request: r, Items: c.strategy(r)})
	case m.stored < m.handed:
		m.stored = m.handed
		return true, c.step(m, protocol.Stored{Upto: m.stored})
	}
	before := m.view
	err := c.observe(m)
	return m.view != before || m.flight != nil, err
}

// printCommits prints the commits with their members, in order.
func (c *cluster) printCommits() {
	who, line := "", ""
	for _, s := range c.commits {
		name, what, _ := strings.Cut(s, ": ")
		if name != who {
			if line != "" {
				c.say("%s", line)
			}
			who, line = name, name+":"
		}
		line += " " + what
	}
	if line != "" {
		c.say("%s", line)
	}
}

func (c *cluster) say(format string, args ...any) {
	c.printed = append(c.printed, fmt.Sprintf(format, args...))
}
