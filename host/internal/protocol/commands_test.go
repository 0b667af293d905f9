package protocol_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// The words of the scripts.
//
// Names: a, b, … are members, each on a server of its own, which has the same
// name; a-1 is a second member of a's server. Items are listed as 0-2,5. Times
// are seconds; a script begins at 100. A command is meant for the member that
// was started first, or was chosen by "me"; "b: tick 110" is meant for b.
//
// The setup, and changes of the registry from outside: see scene_test.go.
//
// What happens to a member:
//
//	observe                         it gets a view of the tree as it is now
//	glance                          its mirror sees the tree as it is now, and gives it no view of that
//	tick 110 prev=100 next=120      an instant is due; the clock follows. prev is 10 before, if not given, and next none
//	passed 110 next=120             the newest instant that had come when the schedule was set
//	preceded 110 120                the jobs before this one have ended well at these instants; "off": there are none
//	recalled 110 120                the instants that were asked for, ascending
//	apply                           its commit reaches the registry and is answered, and it observes
//	applied                         the same, but it does not observe yet
//	refuse, unknown                 its commit gets that answer and is not applied
//	refuse large                    the registry takes smaller ones only
//	unknown applied, unknown late   … but it was; … but it is when "arrive" comes
//	ops                             prints the operations of the commit in flight
//	finish 0-1 failed: why          guests end, one after the other; "together": at once; flow=3/1: each has handled so many elements, and failed with so many
//	assign a:0,2 b:1                the strategy answers, without words as preferred; "assign fault: why";
//	                                "assign oldest …" answers the oldest question, not the newest
//	measured 1.5                    its clock is so many seconds ahead of the registry's
//	listener-ended started          the listener that it called last has ended
//	stored 3                        the history has the rows up to 3; without number all rows that it was given
//	doubt 1                         session health: 0 trusted, 1 doubtful, 2 expired
//	ask pause                       trigger pause (words as of operator) resume reshard leave config total=4 have=0
//	                                define total=4 have=0 have-module=0: text of the module
//	                                disable-item 1 enable-item 1 disable-server b enable-server b
//	                                backfill 0-1 at 110 120 cancel-backfill 0-1
//	prepared fault of=digest: why   the next module is here, or is not
//	rest-deleted fault: why         what a removal has left is gone, or why it is not
//	bar, unbar catchup=2            it must not be in the job; it may
//	unask                           the operator who asked last waits no longer
//	readonly                        the registry takes no writes
//	elsewhere 0@110/1 a             what its history says of a run that a, its member in an earlier session, had open
//	elapsed, lost                   a timer fires; the session is over
var inputs = map[string]func(*cluster, *member, *arguments) error{
	"observe":  func(c *cluster, m *member, _ *arguments) error { return c.observe(m) },
	"glance":   func(c *cluster, m *member, _ *arguments) error { c.glance(m); return nil },
	"apply":    func(c *cluster, m *member, _ *arguments) error { return c.apply(m) },
	"applied":  func(c *cluster, m *member, _ *arguments) error { return c.answer(m) },
	"elapsed":  func(c *cluster, m *member, _ *arguments) error { return c.step(m, protocol.Elapsed{}) },
	"bar":      func(c *cluster, m *member, _ *arguments) error { return c.step(m, protocol.Configured{Barred: true}) },
	"readonly": func(c *cluster, m *member, _ *arguments) error { return c.step(m, protocol.ReadOnly{}) },
	"unask":    func(c *cluster, m *member, _ *arguments) error { return c.step(m, protocol.Unasked{ID: c.asks}) },
	"lost":     func(c *cluster, m *member, _ *arguments) error { return c.step(m, protocol.SessionLost{}) },
	"measured": measured, "listener-ended": listenerEnded, "tick": tick, "passed": passed, "recalled": recalled, "preceded": preceded, "unbar": unbar, "refuse": refuse, "unknown": unknown, "arrive": arrive, "ops": showOps,
	"rest-deleted": restDeleted, "prepared": prepared, "finish": finish, "assign": assign, "stored": stored, "doubt": doubt, "ask": ask, "elsewhere": elsewhere,
}

func tick(c *cluster, m *member, a *arguments) error {
	at, err := msOf(a.word())
	if err != nil {
		return err
	}
	prev, err := msOf(a.key("prev", secondsOf(at-10_000)))
	if err != nil {
		return err
	}
	next, err := msOf(a.key("next", "0"))
	if err != nil {
		return err
	}
	c.now = max(c.now, at)
	return c.step(m, protocol.Tick{At: at, Prev: prev, Next: next})
}

func passed(c *cluster, m *member, a *arguments) error {
	at, err := msOf(a.word())
	if err != nil {
		return err
	}
	next, err := msOf(a.key("next", "0"))
	if err != nil {
		return err
	}
	c.now = max(c.now, at)
	return c.step(m, protocol.Passed{At: at, Next: next})
}

func unbar(c *cluster, m *member, a *arguments) error {
	n, err := strconv.Atoi(a.key("catchup", "0"))
	if err != nil {
		return err
	}
	return c.step(m, protocol.Configured{CatchUp: n})
}

func recalled(c *cluster, m *member, a *arguments) error {
	var in protocol.Recalled
	for _, w := range a.all() {
		at, err := msOf(w)
		if err != nil {
			return err
		}
		in.Instants = append(in.Instants, at)
	}
	return c.step(m, in)
}

func preceded(c *cluster, m *member, a *arguments) error {
	in := protocol.Preceded{Off: a.flag("off")}
	for _, w := range a.all() {
		at, err := msOf(w)
		if err != nil {
			return err
		}
		in.Instants = append(in.Instants, at)
	}
	return c.step(m, in)
}

// sent takes the commit in flight away.
func (m *member) sent() (*flight, error) {
	f := m.flight
	if f == nil {
		return nil, errors.New("there is no commit in flight")
	}
	m.flight = nil
	return f, nil
}

func refuse(c *cluster, m *member, a *arguments) error {
	f, err := m.sent()
	if err != nil {
		return err
	}
	return c.step(m, protocol.Committed{Plan: f.plan, Outcome: protocol.Refused, TooLarge: a.flag("large")})
}

func unknown(c *cluster, m *member, a *arguments) error {
	f, err := m.sent()
	if err != nil {
		return err
	}
	switch what := a.word(); what {
	case "":
	case "applied":
		if _, _, err := c.tree.Commit(m.session, c.now, f.ops); err != nil {
			return err
		}
	case "late":
		m.late = f.ops
	default:
		return fmt.Errorf("unknown %s", what)
	}
	return c.step(m, protocol.Committed{Plan: f.plan, Outcome: protocol.Unknown})
}

func arrive(c *cluster, m *member, _ *arguments) error {
	if m.late == nil {
		return errors.New("nothing is on its way")
	}
	_, _, err := c.tree.Commit(m.session, c.now, m.late)
	m.late = nil
	if err != nil {
		c.say("refused")
	}
	return nil
}

func showOps(c *cluster, m *member, _ *arguments) error {
	if m.flight == nil {
		return errors.New("there is no commit in flight")
	}
	c.printOps(m.flight.ops)
	return nil
}

func finish(c *cluster, m *member, a *arguments) error {
	items, err := itemsOf(a.word())
	if err != nil {
		return err
	}
	together := a.flag("together")
	asked := a.flag("asking")
	var flow protocol.Flow
	if text := a.key("flow", ""); text != "" {
		if _, err := fmt.Sscanf(text, "%d/%d", &flow.Succeeded, &flow.Failed); err != nil {
			return err
		}
	}
	state := protocol.RowState(a.word())
	var ends protocol.Finished
	for k, i := range items {
		e, ok := m.guests[i]
		if !ok {
			return fmt.Errorf("%s has no guest of item %d", m.name, i)
		}
		ends = append(ends, protocol.End{Entry: e, State: state, Why: reason.Text(a.text), Flow: flow, Asked: asked})
		if together && k+1 < len(items) {
			continue
		}
		if err := c.step(m, ends); err != nil {
			return err
		}
		ends = nil
	}
	return nil
}

func assign(c *cluster, m *member, a *arguments) error {
	if len(m.asked) == 0 {
		return errors.New("no strategy was asked")
	}
	k := len(m.asked) - 1
	if a.flag("oldest") {
		k = 0
	}
	in := protocol.Assigned{Request: m.asked[k]}
	m.asked = slices.Delete(m.asked, k, k+1)
	words := a.all()
	switch {
	case len(words) == 0:
		in.Items = c.strategy(in.Request)
	case words[0] == "fault":
		in.Fault = a.text
	default:
		in.Items = make([][]int, len(in.Request.Instances)+1) // one too many shows no harm
		for _, w := range words {
			name, list, _ := strings.Cut(w, ":")
			items, err := itemsOf(list)
			if err != nil {
				return err
			}
			k := len(in.Request.Instances)
			for n, id := range in.Request.Instances {
				if nameOf(id) == name {
					k = n
				}
			}
			in.Items[k] = items
		}
	}
	return c.step(m, in)
}

func listenerEnded(c *cluster, m *member, a *arguments) error {
	l := m.listening
	if string(l.Event) != a.word() {
		return fmt.Errorf("the newest call is of %s", l.Event)
	}
	return c.step(m, protocol.CallEnded{Event: l.Event, Instant: l.Instant, Attempt: l.Attempt})
}

func measured(c *cluster, m *member, a *arguments) error {
	ms, err := msOf(a.word())
	if err != nil {
		return err
	}
	return c.step(m, protocol.Measured{Skew: ms})
}

func stored(c *cluster, m *member, a *arguments) error {
	upto := m.handed
	if w := a.word(); w != "" {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return err
		}
		upto = n
	}
	m.stored = upto
	return c.step(m, protocol.Stored{Upto: upto})
}

func prepared(c *cluster, m *member, a *arguments) error {
	in := protocol.Prepared{Ready: protocol.Ready{Digest: a.key("of", m.state.View().Next)}}
	if a.flag("fault") {
		in.Fault = a.text
	}
	return c.step(m, in)
}

func restDeleted(c *cluster, m *member, a *arguments) error {
	a.flag("fault")
	return c.step(m, protocol.RestDeleted{Fault: a.text})
}

func doubt(c *cluster, m *member, a *arguments) error {
	level, err := strconv.ParseUint(a.word(), 10, 8)
	if err != nil {
		return err
	}
	return c.step(m, protocol.Doubted{Level: protocol.Doubt(level)})
}

func ask(c *cluster, m *member, a *arguments) error {
	w, err := c.request(m, a)
	if err != nil {
		return err
	}
	c.asks++
	return c.step(m, protocol.Asked{ID: c.asks, Ask: w})
}

// pauseOf reads an operator's pause.
func pauseOf(a *arguments) (p protocol.Pause, err error) {
	p.By, p.Why = a.key("by", ""), a.key("why", "")
	if p.Since, err = msOf(a.key("since", "0")); err != nil {
		return p, err
	}
	p.Until, err = msOf(a.key("until", "0"))
	return p, err
}

func (c *cluster) request(m *member, a *arguments) (protocol.Ask, error) {
	switch what := a.word(); what {
	case "trigger":
		return protocol.AskTrigger{}, nil
	case "pause", "resume":
		p, err := pauseOf(a)
		return protocol.AskPause{Paused: what == "pause", Pause: p}, err
	case "reshard":
		return protocol.AskReshard{}, nil
	case "leave":
		return protocol.AskLeave{}, nil
	case "disable-item", "enable-item":
		i, err := strconv.Atoi(a.word())
		return protocol.AskItem{Item: i, Disabled: what == "disable-item"}, err
	case "disable-server", "enable-server":
		return protocol.AskServer{IP: idOf(a.word()).IP(), Disabled: what == "disable-server"}, nil
	case "backfill":
		queues, err := queuesOf(a)
		return protocol.AskBackfill{Queues: queues}, err
	case "cancel-backfill":
		items, err := itemsOf(a.word())
		return protocol.AskCancelBackfill{Items: items}, err
	case "config":
		have := protocol.Version(a.key("have", string(m.shown.ConfigVersion)))
		before := c.config
		err := configure(c, a)
		w := protocol.AskConfig{Config: c.encoded(), Have: have}
		c.config = before
		return w, err
	case "define":
		have := protocol.Version(a.key("have", string(m.shown.ConfigVersion)))
		shown := m.shown.ModuleVersion
		if !m.shown.HasModule {
			shown = protocol.NoModule
		}
		haveModule := protocol.Version(a.key("have-module", string(shown)))
		before := c.config
		err := configure(c, a)
		w := protocol.AskDefine{Definition: protocol.Definition{Config: c.encoded(), Module: moduleText(a.text)}, Have: have, HaveModule: haveModule}
		c.config = before
		return w, err
	default:
		return nil, fmt.Errorf("an operator cannot ask for %q", what)
	}
}
