package runner

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// member is this server's membership in the job during one job session. Only the turn
// that handles its inbox uses its fields, except where a comment says so; other
// goroutines send messages.
type member struct {
	*generations
	inbox   *inbox // any goroutine may put messages
	session *session.Job
	life    lifetime
	history history

	loop        follow.Loop
	sent        sentInputs
	self        job.InstanceID // "" until the registry shows that it joined
	initialRead slot           // of Looks, while it reads all of its nodes for the first time
	report      reporter
	asks        freshAsks

	effective *effective
	cron      string // the schedule of the last reschedule
	guests    guestSet
	calls     calls

	alarm alarm // when the core must decide again
	drain drain
	exit  exit

	before *precedence // never nil
}

// sentInputs are the newest settings and skew that the core has received.
type sentInputs struct {
	settings protocol.Configured
	skew     int64 // ms by which this server's clock is ahead of the registry's
}

// newSettings records settings, and reports whether they have changed.
func (s *sentInputs) newSettings(in protocol.Configured) bool {
	isNew := in != s.settings
	s.settings = in
	return isNew
}

// newSkew records a skew that differs enough from the last one that was sent, and reports
// whether it does.
func (s *sentInputs) newSkew(skew int64) bool {
	isNew := skewIsNews(s.skew, skew)
	if isNew {
		s.skew = skew
	}
	return isNew
}

// newMember returns a member for the job session js, whose events come into inbox. Its loop
// has not started. The error says why the server's own file cannot define the job.
func newMember(l *generations, inbox *inbox, js *session.Job) (*member, error) {
	r := l.Runner
	r.takeFile()
	initial, err := l.initial()
	if err != nil {
		return nil, err
	}
	settings := r.coreSettings(r.file)
	m := &member{
		generations: l, inbox: inbox, session: js, report: reporter{log: r.Log, troubles: &r.troubles},
		loop: follow.New(r.Layout, r.Layout.NewDecoder(nil), protocol.NewState(protocol.Options{
			Base: r.Instance, Session: int64(js.ID()), Define: initial,
			ReshardWait: reshardWait, PruneAfter: pruneAfter, MaxUnstored: maxUnstored,
			MaxNodes: r.Layout.MaxNodes(), MaxBytes: spelling.MaxBytes, NodeBytes: r.Layout.NodeBytes(), Linger: linger, Contender: spelling.Contender(int64(js.ID())),
			Knows: r.Knows, Reads: r.readsCron, Zoneless: settings.Zoneless, Lost: l.sessionLost, Removed: l.removed,
			Slots: settings.Slots, Queue: settings.Queue, Finish: settings.Finish, Replace: settings.Replace,
			Started: settings.Started, Completed: settings.Completed, Retry: settings.Retry, CatchUp: settings.CatchUp,
			Labels: r.Labels, Address: r.Address, Defines: r.Define != nil,
		})),
	}
	m.before = &precedence{}
	m.effective, m.sent.settings = &effective{job: r.file}, settings
	inbox.fence.setFinish(settings.Finish)
	r.Clock.Use(*r.file)
	m.history.member = m
	return m, nil
}

// start starts the member's loop, which handles messages until the member ends. When stop
// ends, the member leaves because the server shuts down.
func (m *member) start(stop context.Context) {
	m.life.begin(stop, func() { m.inbox.put(shutdownMessage{context.Cause(stop)}) })
	m.requests.attach(m.inbox, m.file)
	m.inbox.put(checkMessage{}) // the first turn sends the first reads
	m.inbox.open(m.turn)
}

// turn is the loop: it handles messages until none is left, and the next message
// starts another turn. The last turn also finishes the member.
func (m *member) turn() {
	stretch()
	var messages []message
	for !m.exit.due {
		var tick protocol.Tick
		var more bool
		if messages, tick, more = m.inbox.takeAll(messages); !more {
			return
		}
		for _, msg := range messages {
			m.handle(msg)
		}
		if tick.At != 0 && !m.drain.begun() {
			tick.Next = m.nextInstant(tick.At)
			m.step(tick)
		}
		clear(messages)
		m.handleViews()
		m.passAsks()
		if !m.exit.due {
			m.sendReads()
		}
	}
	m.finish()
}

// finish ends the member with its guests and everything it has under way, and starts the
// next one.
func (m *member) finish() {
	m.inbox.close()
	m.initialRead.release()
	m.Clock.Remove()
	m.life.end()
	m.guests.kill() // their context has ended; kill also watches that they return
	m.life.wait()
	m.unstored.Store(0) // the next member finds the waiting rows in the registry
	m.alarm.stop()
	m.drain.stop()
	m.troubles.clear(troubleAfter)
	if m.removed && m.exit.again { // a tool that is removing the job gives up if other nodes vanish meanwhile
		session.Sleep(m.stop, protocol.RemovalPause*time.Millisecond)
	}
	runs, schedules := m.loop.State().Open()
	was := memberEnd{again: m.exit.again, joined: m.self != "", recordOpen: m.recordOpen(), cutOff: m.loop.Doubt() != protocol.Trusted, runs: openRuns{m.self, runs, schedules}, err: m.exit.err}
	m.requests.detach()
	m.closeSession(m.session)
	if m.awaitNext(was) {
		m.startNext()
	}
}

// recordOpen reports whether the member's record was not empty when it was last seen, or
// has to get the end of a guest.
func (m *member) recordOpen() bool {
	return len(m.guests.byItem) > 0 || m.loop.State().Owes()
}

// handle handles one message.
func (m *member) handle(msg message) {
	switch msg := msg.(type) {
	case eventMessage:
		m.handleEvent(msg.Event)
	case replyMessage:
		m.readAnswered(msg)
	case retryReadsMessage:
		m.loop.Repeat()
	case commitMessage:
		m.commitAnswered(msg)
	case syncedMessage:
		m.loop.Synced()
	case askMessage:
		m.handleAsk(msg.Asked)
	case asksSyncedMessage:
		m.asksSynced(msg.asks)
	case wakeMessage:
		m.alarm.rang()
		m.step(protocol.Elapsed{})
	case drainTimeoutMessage:
		m.drainTimeout()
	case shutdownMessage:
		m.shutDown(msg.cause)
	case redefineMessage:
		m.redefine()
	case cancelMessage:
		m.cancelRun(msg.Cancellation)
	case marksDueMessage:
		m.loop.Waited()
	case *endsMessage:
		for _, e := range msg.ends {
			m.guests.remove(e.Entry)
		}
		m.step(msg.ends)
	case checkMessage:
		m.step(protocol.Elapsed{}) // the clock may have been set
	case precededMessage:
		m.preceded(msg)
	case inputMessage:
		if p, ok := msg.Input.(protocol.Prepared); ok {
			m.report.module(p.Ready)
		}
		m.step(msg.Input)
	case restDeletedMessage:
		m.restDeleted(msg.fault)
	}
}

// handleEvent handles an event of the job session. The server's session logs events that
// concern all jobs.
func (m *member) handleEvent(e registry.Event) {
	m.loop.Event(e)
	if e.Kind == registry.Ended {
		m.step(protocol.SessionLost{})
		m.exit.leave(!m.drain.begun() || m.stop.Err() != nil) // a member that an operator shut down stays away
		m.exit.fail(registry.ErrEnded)
	}
}

// handleViews passes each new view to the core. It first sends the settings that the view
// shows.
func (m *member) handleViews() {
	for !m.exit.due && m.loop.Look() {
		m.initialRead.release()
		m.report.viewComplete()
		m.defining.fresh = m.configure() || m.defining.fresh
		m.decideAdmission()
		m.sendSettings() // listeners are known only when the module is loaded
		m.step(protocol.Observed{View: m.loop.View()})
		m.storeAnsweredElsewhere()
		m.publishSnapshot()
		if m.defining.fresh || !m.defining.done {
			m.define()
		}
		m.joinUnlessDefining()
	}
}

// joinUnlessDefining signals that the job has joined, but only once the server's own file
// is in the registry: an operator who starts a server and then queries the job gets the
// definition of that file.
func (m *member) joinUnlessDefining() {
	if !m.defining.asked {
		m.markJoined()
	}
}

// markJoined signals that the job has joined, or that it cannot because the rest of a
// removed job stays. It does not wait for operations that are retried forever, since the
// server would then never be ready.
func (m *member) markJoined() {
	if m.self != "" || m.loop.State().RestStays() {
		m.joined.give()
	}
}

// publishSnapshot publishes the member's state for other goroutines.
func (m *member) publishSnapshot() {
	if self := m.loop.State().Self(); self != m.self {
		m.self = self
		if self != "" {
			m.setRemoved(false)
		}
	}
	m.logChanges(m.snapshot.Load())
	m.snapshot.Store(&snapshot{view: m.loop.View(), self: m.self, effective: m.effective, troubles: m.loop.State().Troubles()})
}

// step checks the session and the clock before it passes in to the core: after a freeze
// of this process, old messages must not begin a run.
func (m *member) step(in protocol.Input) {
	m.checkHealth()
	m.advance(in)
}

// checkHealth passes changes of the session's health to the core.
func (m *member) checkHealth() {
	ended := m.inbox.fence.takeStrike() // even if the session is trusted again by now
	level := protocol.Trusted
	switch m.session.Health() {
	case session.Trusted:
	case session.Doubtful:
		level = protocol.Doubtful
	case session.Lost:
		level = protocol.Expired
	}
	for _, in := range m.loop.Trust(level, ended) {
		m.advance(in)
	}
	m.checkSkew()
}

// advance passes the input in to the core and carries out the resulting plan.
func (m *member) advance(in protocol.Input) {
	plan := m.loop.Step(time.Now().UnixMilli(), in)
	if plan.Commit != nil {
		m.sendCommit(plan)
	}
	if plan.Sync {
		m.syncAfter(plan.Pause, syncedMessage{}, m.readOnly)
	}
	for _, e := range plan.Effects {
		m.effect(in, e)
	}
}

// effect carries out one effect of a plan, with which the core has answered the input in.
func (m *member) effect(in protocol.Input, e protocol.Effect) {
	switch e := e.(type) {
	case protocol.Run:
		m.startGuest(e)
	case protocol.Cancel:
		m.guests.cancel(e, stopReasonOf(in))
	case protocol.Drain:
		m.beginDrain(m.DrainTimeout, e.Why)
	case protocol.Prepare:
		m.prepareModule(e)
	case protocol.DeleteRest:
		m.deleteRest()
	case protocol.Listen:
		m.callListener(e)
	case protocol.EndCall:
		m.calls.listener.end()
	case protocol.Assign:
		m.askStrategy(e.Request)
	case protocol.Reschedule:
		m.reschedule(e.Cron)
	case protocol.Recall:
		m.inbox.put(inputMessage{protocol.Recalled{Instants: m.missedInstants(e)}})
	case protocol.Store:
		m.history.add(batch{rows: e.Rows, schedules: e.Schedules})
	case protocol.Wake:
		m.alarm.set(time.UnixMilli(e.At), func() { m.inbox.put(wakeMessage{}) })
	case protocol.Answer:
		if e.ID == defineAsk {
			m.defineAnswered(e.Fault)
			return
		}
		m.requests.answer(e.ID, e.Fault)
	case protocol.Note:
		m.report.note(e, m.loop.State().Self())
	case protocol.Stop:
		m.exit.leave(e.Rejoin)
		m.setRemoved(e.Rejoin && e.Removed)
	case protocol.Sync, protocol.Reread: // follow.Loop carries these out
	}
}
