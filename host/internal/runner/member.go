package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// member is the job's life during one session. Everything in it belongs to the
// goroutine of run, save what is marked; others send letters.
type member struct {
	*Runner
	box     *mailbox // shared
	session registry.Session
	fetcher fetcher
	history history
	work    sync.WaitGroup // every goroutine that the member began

	state   *protocol.State
	mirror  *mirror.Mirror
	decoder *layout.Decoder
	view    *protocol.View // the newest that the core has seen
	self    job.InstanceID // "" until the registry shows that it joined

	answered bool // a commit was answered after the view
	syncing  bool // no view is published before the answer of Sync
	reread   bool // … and before everything was read again
	refusals int  // of commits, in a row

	toldReadOnly sync.Once
	toldEnabled  bool // or there was no need to

	effective effective
	overwrite overwriting
	cron      string
	guests    map[int]*guest // by item
	fire      fire
	deal      context.CancelFunc // ends the question to the strategy

	acked moment // when the newest acknowledged heartbeat was sent
	doubt protocol.Doubt

	wake, suspect, drain *time.Timer
	wakeAt               time.Time // when wake fires; zero: it does not
	draining             drainPhase
	over, again          bool
	err                  error
}

func newMember(r *Runner, box *mailbox, s registry.Session, asked moment) (*member, error) {
	config, err := layout.EncodeConfig21(layout.FromJob(r.Config))
	if err != nil {
		return nil, err
	}
	m := &member{
		Runner: r, box: box, session: s,
		state: protocol.NewState(protocol.Options{
			Base: r.Instance, Session: int64(s.ID()), Config: config,
			ReshardWait: reshardWait, PruneAfter: pruneAfter, MaxUnstored: maxUnstored,
			Slots:  slotsOf(r),
			Queue:  r.Config.Overlap == job.QueueOne,
			Finish: r.Config.OnRegistryLoss == job.FinishOnLoss, Replace: r.Config.Overlap == job.Replace,
			Labels: r.Labels,
		}),
		mirror:  mirror.New(r.Layout.Watched(), r.Layout.Follow),
		decoder: r.Layout.NewDecoder(),
		guests:  map[int]*guest{},
		acked:   asked,
		wake:    stopped(), suspect: stopped(), drain: stopped(),
	}
	m.effective.config = r.Config
	m.fetcher = fetcher{session: s, box: box, work: &m.work}
	m.history = newHistory(m)
	return m, nil
}

// slotsOf is how many orphaned runs the member may take.
func slotsOf(r *Runner) int {
	n := r.Config.Parallel
	if all := cap(r.Slots); n == 0 || all > 0 && all < n {
		n = all
	}
	return n
}

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// run is the loop. It ends when the session is over, when the member has left,
// or when the time to leave is over; its guests have ended then. stop asks it
// to leave.
func (m *member) run(stop context.Context) (again bool, err error) {
	life, end := context.WithCancel(context.WithoutCancel(stop))
	defer m.work.Wait()
	defer end()
	defer m.Clock.Remove()
	m.work.Go(func() { m.beat(life) })
	m.work.Go(func() { m.history.run(life) })
	m.attach(m.box)
	asked := stop.Done()
	var letters []letter
	for !m.over {
		m.publish(life)
		if m.over {
			break
		}
		m.fetcher.fetch(life, m.mirror.Wanted())
		select {
		case <-m.box.ready:
		case <-m.wake.C:
			m.wakeAt = time.Time{}
			m.step(life, protocol.Elapsed{})
		case <-m.suspect.C:
		case <-asked:
			asked = nil
			m.leave(life)
		case <-m.drain.C:
			m.drained()
		}
		m.judge(life)
		var tick protocol.Tick
		letters, tick = m.box.take(letters)
		for _, l := range letters {
			m.read(life, l)
		}
		if tick.At != 0 && m.draining == notDraining {
			m.step(life, tick)
		}
		clear(letters)
	}
	m.stopTimers()
	return m.again, m.err
}

// open tells whether the member's record had something in it when it was seen
// last, or was being written.
func (m *member) open() bool {
	if m.view == nil || m.self == "" {
		return false
	}
	for k := range m.view.Runs {
		if r := &m.view.Runs[k]; r.ID == m.self {
			return len(m.guests) > 0 || len(r.Open)+len(r.Rows)+len(r.Triggers) > 0
		}
	}
	return len(m.guests) > 0
}

func (m *member) stopTimers() {
	for _, t := range []*time.Timer{m.wake, m.suspect, m.drain} {
		t.Stop()
	}
}

// read takes one letter.
func (m *member) read(ctx context.Context, l letter) {
	switch l := l.(type) {
	case eventLetter:
		m.event(ctx, l.Event)
	case replyLetter:
		if l.err != nil {
			m.mirror.Failed(l.read)
			return
		}
		m.mirror.Reply(l.read, l.node)
	case commitLetter:
		m.committed(ctx, l)
	case syncLetter:
		m.syncing = false
		if m.reread {
			m.reread = false
			m.mirror.Reread()
		}
	case inputLetter:
		if f, ok := l.Input.(protocol.Finished); ok {
			m.ended(f.Entry)
		}
		m.step(ctx, l.Input)
	}
}

func (m *member) event(ctx context.Context, e registry.Event) {
	m.mirror.Event(e)
	switch e.Kind {
	case registry.Changed:
	case registry.Suspended:
		m.Log.Warn("the connection to the registry is lost")
		m.troubles.set(troubleRegistry, "the connection is lost")
	case registry.Resumed:
		m.Log.Info("the connection to the registry is back")
		m.troubles.clear(troubleRegistry)
	case registry.Ended:
		m.step(ctx, protocol.SessionLost{})
		m.over, m.again = true, true
		m.err = registry.ErrEnded
		m.troubles.set(troubleRegistry, "the session ended")
	}
}

// publish shows the core the tree, if it is known to be one moment of it and
// there is something new to see: a change, or the end of a commit.
func (m *member) publish(ctx context.Context) {
	for !m.over && !m.syncing && m.mirror.Settled() {
		changes := m.mirror.Changes()
		if len(changes) == 0 && m.view != nil && !m.answered {
			return
		}
		for _, c := range changes {
			m.decoder.Apply(c.Path, c.Node)
		}
		if len(changes) > 0 || m.view == nil {
			m.view = m.decoder.View()
		}
		m.answered = false
		m.configure()
		m.step(ctx, protocol.Observed{View: m.view})
		m.show()
		m.reconfigure(ctx)
	}
}

// show lets others see where the member stands.
func (m *member) show() {
	if self := m.state.Self(); self != m.self {
		m.self = self
		if self != "" {
			m.joinOnce.Do(func() { close(m.joined) })
		}
	}
	m.snapshot.Store(&snapshot{view: m.view, self: m.self, config: m.effective.config})
}

// step asks the core, after a look at the clock: a process that was frozen must
// not begin anything by letters of the time before.
func (m *member) step(ctx context.Context, in protocol.Input) {
	m.judge(ctx)
	m.advance(ctx, in)
}

// advance asks the core and carries out what it says.
func (m *member) advance(ctx context.Context, in protocol.Input) {
	plan := protocol.Step(m.state, time.Now().UnixMilli(), in)
	if plan.Commit != nil {
		m.commit(ctx, plan)
	}
	for _, e := range plan.Effects {
		m.effect(ctx, in, e)
	}
}

func (m *member) effect(ctx context.Context, in protocol.Input, e protocol.Effect) {
	switch e := e.(type) {
	case protocol.Run:
		m.start(ctx, e)
	case protocol.Cancel:
		m.cancel(e, reasonOf(in))
	case protocol.Assign:
		m.assign(ctx, e.Request)
	case protocol.Reschedule:
		m.reschedule(e.Cron)
	case protocol.Store:
		m.history.add(batch{rows: e.Rows, cron: m.cron})
	case protocol.Wake:
		m.wakeBy(time.UnixMilli(e.At))
	case protocol.Sync:
		m.sync(ctx, in)
	case protocol.Reread:
		m.mirror.Reread()
	case protocol.Answer:
		if e.ID == overwriteAsk {
			m.overwrite.answered(e.Fault)
			return
		}
		m.answer(e.ID, e.Fault)
	case protocol.Note:
		m.Log.Info("note", "text", e.Text, "instance", m.state.Self())
	case protocol.Stop:
		m.over, m.again = true, e.Rejoin
	}
}

// wakeBy sets the one timer; what is asked for earlier has precedence.
func (m *member) wakeBy(at time.Time) {
	if !m.wakeAt.IsZero() && m.wakeAt.Before(at) {
		return
	}
	m.wakeAt = at
	m.wake.Reset(max(time.Until(at), 0))
}

func (m *member) reschedule(cron string) {
	m.cron = cron
	if m.draining != notDraining {
		return
	}
	m.box.dropTick()
	if cron == "" {
		m.Clock.Remove()
		m.troubles.clear(troubleSchedule)
		return
	}
	// One moment for both: what is not after it is told here, all else ticks.
	now := time.Now()
	if err := m.Clock.Set(cron, now, m.box.due); err != nil {
		m.Clock.Remove()
		m.Log.Error("the schedule in the registry cannot be used, nothing fires", "cron", cron, "error", err)
		m.troubles.set(troubleSchedule, fmt.Sprintf("the schedule %q cannot be used: %v", cron, err))
		return
	}
	m.troubles.clear(troubleSchedule)
	m.box.put(inputLetter{protocol.Passed{At: m.newest(cron, now)}})
}

// newest is the last instant of the schedule that is not after now; 0 if there
// was none for years. Schedules only search forward, so ever longer stretches of
// the past are tried.
func (m *member) newest(cron string, now time.Time) int64 {
	for _, back := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 31 * 24 * time.Hour, 5 * 366 * 24 * time.Hour} {
		_, last, n, err := m.Clock.Between(cron, now.Add(-back).UnixMilli(), now.UnixMilli()+1)
		if err != nil || n > 0 {
			return last
		}
	}
	return 0
}

// assign asks the strategy. A newer question ends an older one.
func (m *member) assign(ctx context.Context, r protocol.AssignRequest) {
	if m.deal != nil {
		m.deal()
	}
	ctx, end := context.WithCancel(ctx)
	m.deal = end
	c, self := m.effective.config, m.state.Self()
	m.work.Go(func() {
		defer end()
		in := protocol.Assigned{Request: r}
		items, err := m.Dealer.Deal(ctx, c, r)
		if in.Items = items; err != nil && items == nil {
			in.Fault = err.Error()
		}
		if ctx.Err() == nil {
			m.dealt(Event{Kind: StrategyFault, At: time.Now(), Config: c, Instance: self}, err, items == nil)
		}
		m.box.put(inputLetter{in})
	})
}

// dealt tells everybody of a strategy that failed: its items run on servers
// that nobody chose.
func (m *member) dealt(e Event, err error, kept bool) {
	if err == nil {
		m.troubles.clear(troubleStrategy)
		return
	}
	instead := "items are dealt out evenly"
	if kept {
		instead = "items stay where they are"
	}
	e.Reason = fmt.Sprintf("it failed, and %s: %v", instead, err)
	m.Log.Error("the sharding strategy failed", "instead", instead, "error", err)
	m.troubles.set(troubleStrategy, e.Reason)
	m.Observe(e)
}
