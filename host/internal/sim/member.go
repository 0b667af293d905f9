package sim

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// member is one server's share of the job. Its loop is the shipped one. The rest of
// package runner is replaced by code in virtual time, without goroutines.
type member struct {
	w       *World
	label   string // in traces
	ip      string
	pid     int
	offset  int64 // offset of its clock, ms
	set     int64 // when the clock was set last
	timeout int64 // of its sessions
	up      bool
	life    int   // number of sessions; messages for an older one are ignored
	since   int64 // when this life began

	frozen  bool
	backlog []func()

	s        *session
	loop     follow.Loop
	st       *protocol.State // the loop's state while there is a session
	resting  bool            // it will sync its session after a pause
	opening  int64           // time until a requested session is open
	acked    int64           // send time of the last acknowledged transaction
	commit   *sent
	deletion *deletion // the newest; nil: there was none
	reads    []mirror.Read
	guests   []*running
	call     *listening // the call of a listener of fires
	period   int64
	prev     int64
	ticker   int
	skew     int64 // as measured last
	measured int64 // when skew was measured

	ticked  int64 // the newest instant that came due here
	before  int64 // the instant before ticked; 0: unknown
	fresh   bool  // ticked came due in this life
	unseen  int64 // the newest instant that came before this life, until another one comes
	first   int64 // when it began to follow the schedule
	stored  int64 // number of the newest row that the history acknowledged
	storing int64 // when the newest batch is stored
	outage  int64 // until then the history stores nothing
	wake    int
	freed   int64 // when it last completed a run

	marked     int64          // when it saw the reshard mark; 0: there is none
	request    int64          // the newest request to it that it saw, by the revision that wrote it
	requested  int64          // when it saw that request
	leaving    bool           // it was asked to end
	lost       bool           // the process had another session, which ended
	asked      map[int64]bool // requests without an answer
	retired    bool           // an operator took the server away for good
	admitted   admitted
	precedence precedence
	refusals   map[string]int // by mutation, on the view refOn
	viewRev    int64
	refOn      int64
}

type sent struct {
	plan int64
	m    protocol.Mutation
}

// running is a guest.
type running struct {
	protocol.Entry
	m       *member
	fence   int64
	session *session
	over    bool
	since   int64
	result  protocol.RowState
}

func (m *member) name() string { return m.label + "/" + strconv.Itoa(m.life) }

// now is the member's own clock.
func (m *member) now() int64 { return m.w.registryTime() + m.offset }

// start begins a life: a session and a new state of the core. It is for a new process, too.
func (m *member) start() {
	w := m.w
	m.lost, m.admitted = m.lost && m.up, m.admitted.kept(m.up) // a new process does not know of it
	m.up = true
	m.life++
	m.since = w.now
	life := m.life
	m.frozen, m.backlog = false, nil
	m.deletion = nil
	m.resting, m.commit, m.reads, m.period, m.prev, m.ticked = false, nil, nil, 0, 0, 0
	m.unseen, m.first, m.before = 0, 0, 0
	m.stored, m.skew, m.measured = 0, 0, 0
	m.refusals, m.viewRev = map[string]int{}, 0
	m.precedence = precedence{views: make([]*protocol.View, len(w.jobsBefore)), next: m.precedence.next}
	m.leaving, m.marked, m.asked = false, 0, map[int64]bool{}
	asked := w.now
	m.s = w.newSession(m.timeout, func(msg message) { m.handleMessage(life, msg) })
	m.loop = follow.New(w.job, w.job.NewDecoder(w.records), protocol.NewState(m.options()))
	if m.opening == 0 {
		m.open(asked)
		return
	}
	w.after(m.opening, func() {
		if m.life == life && m.up {
			m.open(asked)
		}
	})
}

// options returns the options of the core.
func (m *member) options() protocol.Options {
	o := m.w.options
	o.Base = job.InstanceID(fmt.Sprintf("%s@-@%d", m.ip, m.pid))
	o.Session = int64(m.s.id)
	o.Contender = spelling.Contender(o.Session)
	o.Without, o.Lost, o.Barred = m.w.without, m.lost, m.admitted.barred
	return o
}

// open begins the member's life on an open session.
func (m *member) open(asked int64) {
	w := m.w
	m.acked = asked
	m.st = m.loop.State()
	w.tracef("%s: opens session %d", m.name(), m.s.id)
	m.heartbeat(m.life)
	if w.follows() {
		m.step(protocol.Preceded{})
		m.readBefore()
	}
	m.pump()
}

// guard runs do as one turn of the member's loop, unless the life it belongs to is over. A
// frozen process runs it when it thaws.
func (m *member) guard(life int, do func()) {
	switch {
	case !m.lives(life):
	case m.frozen:
		m.backlog = append(m.backlog, func() { m.guard(life, do) })
	default:
		m.look() // the health of the session is passed on first
		do()
		m.turned()
	}
}

// handleMessage is guard for messages: without a closure as a rule, for there are many.
func (m *member) handleMessage(life int, msg message) {
	if m.frozen || !m.lives(life) {
		m.guard(life, func() { m.receive(msg) })
		return
	}
	m.look()
	m.receive(msg)
	m.turned()
}

func (m *member) lives(life int) bool { return m.up && m.life == life && !m.w.broken() }

// turned ends a turn, and checks that nothing runs in a session that may be over.
func (m *member) turned() {
	m.pump()
	m.lease()
	if m.st != nil && m.trust() == protocol.Expired && m.call != nil {
		m.w.breach("self-fencing", "%s: a listener goes on though the session may be over", m.name())
	}
	if m.st != nil && m.trust() == protocol.Expired && len(m.guests) > 0 && !m.w.options.Finish {
		m.w.breach("self-fencing", "%s: a guest of item %d goes on though the session may be over", m.name(), m.guests[0].Item)
	}
}

func (m *member) later(d int64, do func()) {
	life := m.life // in another life nothing is done
	m.w.after(d, func() { m.guard(life, do) })
}

func (m *member) receive(msg message) {
	if msg.beat != 0 { // the answer to a heartbeat that was sent then
		m.acknowledged(msg.beat)
		return
	}
	if msg.answer() {
		return
	}
	if msg.event.Kind == registry.Ended {
		m.ended()
		return
	}
	m.loop.Event(msg.event)
}

// pump ends a turn: it passes settled views to the core, and starts the reads of the mirror.
func (m *member) pump() {
	for m.up && !m.frozen && m.st != nil && !m.w.broken() {
		if !m.loop.Look() {
			m.fetch()
			return
		}
		v := m.loop.View()
		m.viewRev = v.Rev
		switch {
		case m.commit != nil: // the member looks for marks only after the answer
		case !v.Necessary && !v.Processing && !unadopted(v) && !departed(v):
			m.marked = 0 // it need not wait for a reshard
		case m.marked == 0:
			m.marked = m.now() // since now it waits
		}
		m.seeRequest(v)
		m.leaving = m.leaving || m.st.Self() != "" && registered(v, m.st.Self()) == nil
		m.decideAdmission(v)
		m.step(protocol.Observed{View: v})
		m.leaveUnseen()
		if m.st != nil {
			m.seeRequest(v) // the first view with its own instance may have a request
		}
	}
}

// fetch starts the reads that the loop wants.
func (m *member) fetch() {
	reads, wait := m.loop.Reads()
	if wait > 0 {
		m.later(wait.Microseconds(), m.loop.Waited)
	}
	life := m.life
	for _, r := range reads {
		m.reads = append(m.reads, r)
		m.s.read(r.Path, func(n registry.Node) {
			if m.life != life {
				return
			}
			if k := slices.Index(m.reads, r); k >= 0 {
				m.reads = slices.Delete(m.reads, k, k+1)
			}
			m.loop.Reply(r, n)
		})
	}
}

// seeRequest records when a request to the member is seen first.
func (m *member) seeRequest(v *protocol.View) {
	if in := registered(v, m.st.Self()); in != nil && in.Request != 0 && in.Request != m.request {
		m.request, m.requested = in.Request, m.now()
	}
}

// step passes an input to the core after a look at the clock, as the runner does.
func (m *member) step(in protocol.Input) {
	m.look()
	m.advance(in)
}

// look passes the health of the session and the error of the clock to the core.
func (m *member) look() {
	m.doubts()
	m.learnTime()
}

// advance passes an input to the core and carries out its plan.
func (m *member) advance(in protocol.Input) {
	if m.st == nil {
		return
	}
	if m.w.steps++; m.w.steps > enough {
		m.w.breach("no busy wait", "%d steps, the newest by %s on %T", m.w.steps, m.name(), in)
		return
	}
	p := m.loop.Step(m.now(), in)
	if p.Sync { // the outcome of a transaction is unknown
		m.sync(p.Pause)
	}
	for _, e := range p.Effects {
		m.effect(e)
	}
	if p.Commit != nil && m.up && m.st != nil {
		m.write(p)
	}
}

// write sends the transaction of a plan, and passes the answer to the core.
func (m *member) write(p follow.Plan) {
	if m.commit != nil {
		m.w.breach("one commit in flight", "%s sends %s while %s is under way", m.name(), describe(p.Commit), describe(m.commit.m))
		return
	}
	m.commit = &sent{p.ID, p.Commit}
	m.w.injectFault(m, p.Commit)
	m.w.provokeRace(m, p.Commit)
	m.w.driver.sent(m, p.Commit)
	life, at := m.life, m.w.now
	unstored := 0
	if r := recordOf(m.st.View(), m.st.Self()); r != nil {
		for _, row := range r.Rows {
			if row.Seq > m.stored {
				unstored++
			}
		}
	}
	by := origin{sent: m.w.now, now: m.now(), skew: m.skew, unstored: unstored, member: m, self: m.st.Self(), m: p.Commit, view: m.st.View(), ticked: m.ticked, marked: m.now() - m.marked, asked: m.now() - m.requested, ending: m.leaving || m.admitted.barred || m.admitted.leaves}
	m.s.send(m.w.driver.fateOf(m, p.Commit), p.Ops, by, func(receipt registry.Receipt, err error) {
		if m.life != life || m.commit == nil || m.commit.plan != p.ID {
			return
		}
		m.acknowledged(at)
		m.commit = nil
		in, outcome := m.loop.Answered(p.ID, receipt, m.s.id, err)
		if outcome == follow.Conflict && in.Occupied == 0 { // no view could have shown an id in use
			m.refused(p.Commit)
		}
		m.step(in)
	})
}

// enough is the limit of steps for any seed: only an endless loop takes more.
const enough = 100_000

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

// effect carries out an effect of the core, in place of package runner.
func (m *member) effect(e protocol.Effect) {
	w := m.w
	switch e := e.(type) {
	case protocol.Run:
		m.run(e)
	case protocol.Cancel:
		m.cancel(e)
	case protocol.Drain:
		m.drain(e.Why)
	case protocol.Assign:
		a := assign(e.Request)
		switch {
		case w.calm || w.driver.on() || w.chance(0.9):
		case w.chance(0.5):
			a.Items, a.Fault = nil, "it timed out"
		default:
			a.Items = [][]int{{0, 0, 7}, {-1}, {1, 2, 1000}} // a faulty strategy
		}
		m.later(w.between(100, 30*millisecond), func() { m.step(a) })
	case protocol.Prepare:
		in := protocol.Prepared{Ready: protocol.Ready{Digest: e.Digest}}
		if !w.calm && !w.driver.on() && w.chance(0.2) {
			in.Fault = "nobody has it"
		}
		m.later(w.between(10*millisecond, 3000*millisecond), func() { m.step(in) })
	case protocol.DeleteRest:
		m.deleteRest()
	case protocol.Listen:
		m.listen(e)
	case protocol.EndCall:
		m.endCall()
	case protocol.Reschedule:
		m.reschedule(e.Cron)
	case protocol.Recall:
		m.recall(e)
	case protocol.Store:
		m.store(e.Rows)
	case protocol.Wake:
		m.wake++
		n := m.wake
		m.later(max(e.At-m.now(), 0)*millisecond, func() {
			if n == m.wake { // only the newest Wake counts
				m.step(protocol.Elapsed{})
			}
		})
	case protocol.Answer:
		w.tracef("%s: answer %d %q", m.name(), e.ID, e.Fault)
		delete(m.asked, e.ID)
	case protocol.Note:
		m.noted(e)
	case protocol.Stop:
		m.stop(e.Rejoin)
	case protocol.Sync, protocol.Reread: // handled by the loop
	}
}
