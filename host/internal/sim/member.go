package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/strategy"
)

// member is one server's share of the job: what package runner is in the real
// daemon, without goroutines.
type member struct {
	w      *World
	label  string // for people
	ip     string
	pid    int
	offset int64 // of its clock, ms
	up     bool
	life   int // counts sessions: what belongs to an older one is ignored

	frozen  bool
	thaws   int64 // how often it was frozen
	backlog []func()

	s       *session
	st      *protocol.State
	mir     *mirror.Mirror
	dec     *layout.Decoder
	owed    bool // an Observed is due after a commit's answer
	syncing bool
	acked   int64 // send time of the last acknowledged request
	doubt   protocol.Doubt
	commit  *sent
	reads   []mirror.Read
	guests  []*running
	period  int64
	prev    int64
	ticker  int
	storing int64 // when the newest batch is stored
	wake    int

	refusals map[string]int // by mutation, on the view refusedOn
	viewRev  int64
	refOn    int64
}

type sent struct {
	plan int64
	m    protocol.Mutation
}

// running is a guest.
type running struct {
	protocol.Entry
	m      *member
	fence  int64
	thaws  int64
	over   bool
	since  int64
	soft   bool
	result protocol.RowState
}

func (m *member) name() string { return m.label + "/" + strconv.Itoa(m.life) }

// now is the member's own clock.
func (m *member) now() int64 { return m.w.now/millisecond + m.offset }

// start opens a session and a new protocol state.
func (m *member) start() {
	w := m.w
	m.up = true
	m.life++
	life := m.life
	m.frozen, m.backlog = false, nil
	m.owed, m.syncing, m.commit, m.reads, m.period, m.prev = false, false, nil, nil, 0, 0
	m.doubt, m.acked = protocol.Trusted, w.now
	m.refusals = map[string]int{}
	m.s = w.newSession(func(msg message) { m.guard(life, func() { m.receive(msg) }) })
	o := w.options
	o.Base = job.InstanceID(fmt.Sprintf("%s@-@%d", m.ip, m.pid))
	o.Session = int64(m.s.id)
	m.st = protocol.NewState(o)
	m.mir = mirror.New(w.job.Watched(), w.job.Follow)
	m.dec = w.job.NewDecoder()
	w.tracef("%s: opens session %d", m.name(), m.s.id)
	m.heartbeat(life)
	m.pump()
}

// guard runs do as one turn of the member's loop, unless the life it belongs
// to is over; a frozen process does it when it wakes.
func (m *member) guard(life int, do func()) {
	if !m.up || m.life != life || m.w.broken() {
		return
	}
	if m.frozen {
		m.backlog = append(m.backlog, func() { m.guard(life, do) })
		return
	}
	m.doubts()
	do()
	m.pump()
}

func (m *member) later(d int64, do func()) {
	life := m.life
	m.w.after(d, func() { m.guard(life, do) })
}

func (m *member) receive(msg message) {
	if msg.reply != nil {
		msg.reply()
		return
	}
	if msg.event.Kind == registry.Ended {
		m.ended()
		return
	}
	m.mir.Event(msg.event)
}

// pump is the rest of a turn: reads that are wanted, a view that has settled.
func (m *member) pump() {
	for m.up && !m.frozen && m.st != nil {
		for _, r := range m.mir.Wanted() {
			m.reads = append(m.reads, r)
			sent := m.w.now
			life, s := m.life, m.s
			s.read(r.Path, func(n registry.Node) {
				if m.life != life {
					return
				}
				m.acked = max(m.acked, sent)
				if k := slices.Index(m.reads, r); k >= 0 {
					m.reads = slices.Delete(m.reads, k, k+1)
				}
				m.mir.Reply(r, n)
			})
		}
		if !m.mir.Settled() || m.syncing {
			return
		}
		changes := m.mir.Changes()
		if len(changes) == 0 && !m.owed && m.viewRev != 0 {
			return
		}
		m.owed = false
		for _, c := range changes {
			m.dec.Apply(c.Path, c.Node)
		}
		var v *protocol.View
		if len(changes) > 0 || m.viewRev == 0 {
			v = m.dec.View()
		} else {
			v = m.st.View()
		}
		m.viewRev = v.Rev
		m.step(protocol.Observed{View: v})
	}
}

func (m *member) step(in protocol.Input) {
	if m.st == nil {
		return
	}
	m.w.steps++
	p := protocol.Step(m.st, m.now(), in)
	for _, e := range p.Effects {
		m.effect(e)
	}
	if p.Commit != nil && m.up && m.st != nil {
		m.write(p)
	}
}

func (m *member) write(p protocol.Plan) {
	m.commit = &sent{p.ID, p.Commit}
	life, at := m.life, m.w.now
	ops := m.w.job.Encode(p.Commit, m.st.View())
	m.s.commit(ops, author{member: m, m: p.Commit}, func(rev int64, ok bool) {
		if m.life != life || m.commit == nil || m.commit.plan != p.ID {
			return
		}
		m.acked = max(m.acked, at)
		m.commit, m.owed = nil, true
		c := protocol.Committed{Plan: p.ID, Outcome: protocol.Refused, Revision: rev}
		if ok {
			c.Outcome = protocol.Applied
		} else {
			m.refused(p.Commit)
		}
		m.step(c)
	})
}

// refused counts refusals of one mutation on one view.
func (m *member) refused(mu protocol.Mutation) {
	if m.refOn != m.viewRev {
		m.refOn = m.viewRev
		clear(m.refusals)
	}
	m.refusals[mu.Name()]++
	if m.refusals[mu.Name()] >= 3 {
		m.w.breach("conflicts", "%s: %s was refused three times on the same view", m.name(), describe(mu))
	}
}

func (m *member) effect(e protocol.Effect) {
	w := m.w
	switch e := e.(type) {
	case protocol.Run:
		m.run(e)
	case protocol.Cancel:
		m.cancel(e)
	case protocol.Assign:
		m.later(w.between(100, 30*millisecond), func() { m.step(assign(e.Request)) })
	case protocol.Reschedule:
		m.reschedule(e.Cron)
	case protocol.Store:
		m.store(e.Rows)
	case protocol.Wake:
		m.wake++
		n := m.wake
		m.later(max(e.At-m.now(), 0)*millisecond, func() {
			if n == m.wake {
				m.step(protocol.Elapsed{})
			}
		})
	case protocol.Sync:
		m.sync()
	case protocol.Reread:
		m.mir.Reread()
	case protocol.Answer:
		w.tracef("%s: answer %d %q", m.name(), e.ID, e.Fault)
	case protocol.Note:
		w.tracef("%s: note: %s", m.name(), e.Text)
	case protocol.Stop:
		m.stop(e.Rejoin)
	}
}

func (m *member) sync() {
	m.syncing = true
	m.owed = true
	life, at := m.life, m.w.now
	m.s.sync(func() {
		if m.life == life {
			m.acked = max(m.acked, at)
			m.syncing = false
		}
	})
}

func assign(r protocol.AssignRequest) protocol.Assigned {
	st, err := strategy.Named(r.Strategy)
	if err != nil {
		return protocol.Assigned{Request: r, Fault: err.Error()}
	}
	ids := make([]string, len(r.Instances))
	for i, id := range r.Instances {
		ids[i] = string(id)
	}
	items, err := st.Assign(context.Background(), strategy.Request{Job: jobName, Instances: ids, Total: r.Total, Previous: r.Previous})
	if err != nil {
		return protocol.Assigned{Request: r, Fault: err.Error()}
	}
	return protocol.Assigned{Request: r, Items: items}
}

// reschedule ticks at every multiple of the period, by the member's clock.
func (m *member) reschedule(cron string) {
	m.ticker++
	m.prev = 0
	m.period = period(cron)
	if m.period > 0 {
		m.nextTick(m.now())
	}
}

func (m *member) nextTick(after int64) {
	n := m.ticker
	at := (after/m.period + 1) * m.period
	m.later((at-m.now())*millisecond, func() {
		if n != m.ticker {
			return
		}
		// A frozen process catches up with the newest instant at once.
		if late := m.now() / m.period * m.period; late > at {
			at, m.prev = late, 0
		}
		if m.w.ticking() {
			m.w.ledger.due(m, at)
			prev := m.prev
			m.prev = at
			m.step(protocol.Tick{At: at, Prev: prev})
		}
		if m.up && m.st != nil && n == m.ticker {
			m.nextTick(at)
		}
	})
}

// period of the only kind of cron that the simulation uses: "0/n * * * * ?".
func period(cron string) int64 {
	n, _ := strconv.ParseInt(strings.TrimPrefix(strings.TrimSuffix(cron, " * * * * ?"), "0/"), 10, 64)
	return n * 1000
}

// store hands rows to the history, which is sometimes slow.
func (m *member) store(rows []protocol.Row) {
	d := m.w.between(200, 20*millisecond)
	if m.w.chance(0.05) {
		d = m.w.between(100*millisecond, 5*second)
	}
	self := m.st.Self()
	m.storing = max(m.storing+1, m.w.now+d) // in order
	m.later(m.storing-m.w.now, func() {
		for _, r := range rows {
			m.w.ledger.stored(r)
		}
		if m.st != nil && m.st.Self() == self {
			m.step(protocol.Stored{Upto: rows[len(rows)-1].Seq})
		}
	})
}

// heartbeat asks for a sign of life each sixth of the time-out, and looks at
// the doubt more often than that.
func (m *member) heartbeat(life int) {
	w := m.w
	beat := 0
	var again func()
	again = func() {
		if m.life != life || !m.up {
			return
		}
		m.guard(life, func() {
			if beat%2 == 0 {
				at := w.now
				m.s.request(func() {
					m.s.client(message{reply: func() { m.acked = max(m.acked, at) }})
				}, nil)
			}
			beat++
		})
		w.after(w.timeout/12, again)
	}
	again()
}

// doubts judges by the member's own clock how far the session can be trusted.
func (m *member) doubts() {
	if m.st == nil {
		return
	}
	level := protocol.Trusted
	switch quiet := m.w.now - m.acked; {
	case quiet >= m.w.timeout*3/4:
		level = protocol.Expired
	case quiet >= m.w.timeout/2:
		level = protocol.Doubtful
	}
	if level != m.doubt {
		m.doubt = level
		m.w.tracef("%s: doubt %d", m.name(), level)
		m.step(protocol.Doubted{Level: level})
	}
}

// suspended: the client library noticed that the connection is gone.
func (m *member) suspended() {
	m.mir.Event(registry.Event{Kind: registry.Suspended})
	for _, r := range m.reads {
		m.mir.Failed(r)
	}
	m.reads = nil
	if c := m.commit; c != nil {
		m.commit, m.owed = nil, true
		m.step(protocol.Committed{Plan: c.plan, Outcome: protocol.Unknown})
	}
}

func (m *member) resumed() {
	m.mir.Event(registry.Event{Kind: registry.Resumed})
	if m.syncing && m.st != nil {
		m.sync()
	}
}

// ended: the session is over. Its guests are ended before anything else.
func (m *member) ended() {
	if m.st == nil {
		return
	}
	m.w.tracef("%s: session over", m.name())
	m.step(protocol.SessionLost{})
	m.endGuests()
	m.st = nil
	life := m.life
	m.w.after(m.w.between(10*millisecond, second), func() {
		if m.up && m.life == life {
			m.start()
		}
	})
}

func (m *member) endGuests() {
	for _, g := range m.guests {
		g.over = true
	}
	m.guests = nil
}

// stop: the member left.
func (m *member) stop(rejoin bool) {
	w := m.w
	w.tracef("%s: stops, rejoin %v", m.name(), rejoin)
	m.endGuests()
	m.st = nil
	s := m.s
	w.after(w.delay(), func() { w.endSession(s) })
	life := m.life
	if !rejoin {
		m.up = false
	}
	w.after(w.between(50*millisecond, 3*second), func() {
		if m.life == life {
			m.start()
		}
	})
}

// crash: the process is gone; the server learns it by silence.
func (m *member) crash() {
	m.w.tracef("%s: crashes", m.name())
	m.endGuests()
	m.up, m.st, m.frozen, m.backlog = false, nil, false, nil
	m.s.epoch++
	m.s.connected = false
}

func (m *member) freeze() {
	m.w.tracef("%s: freezes", m.name())
	m.frozen = true
	m.thaws++
}

func (m *member) thaw() {
	if !m.frozen {
		return
	}
	m.w.tracef("%s: thaws", m.name())
	m.frozen = false
	todo := m.backlog
	m.backlog = nil
	life := m.life
	// What a guest does between waking and its next yield: nobody can stop it,
	// its token must not be accepted.
	for _, g := range m.guests {
		if m.w.chance(0.5) {
			m.w.ledger.writes(g)
		}
	}
	m.guard(life, func() {}) // the loop looks at the clock before anything else
	for _, do := range todo {
		do()
	}
}
