package zk

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// room is the number of connections of a search, and of those that comeUp adds.
const room = connections + 3

// world is a connection with everything that decides what comes next.
type world struct {
	around
	of faulty
}

// around is the service, the client library, and the goroutines of a session. Sets of paths are
// bits.
type around struct {
	conn     int8  // the library's connection; 0: none
	count    int8  // number of connections so far
	hungUp   bool  // conn is closed, and the library has not noticed
	over     bool  // the session ended, or is ending
	stopped  bool  // the library has stopped
	followed uint8 // paths followed on conn
	restores [room]restorer
	calls    [2]caller // calls that follow
	request  caller
	gate     bool // requests may pass
	sent     registry.EventKind
	held     uint8  // paths that calls have promised to follow
	broken   string // the promise that was broken
}

// restorer is the goroutine that restores one connection.
type restorer struct {
	state restoreState
	left  uint8
}

type restoreState uint8

const (
	noRestore restoreState = iota
	restoreAsks
	restoreOK // it has not reported this yet
	restoreRefused
)

// caller is a call of the session's methods.
type caller uint8

const (
	callIdle caller = iota
	callWaits
	callSent
	callAnswered // the call has not noticed yet
	callDone
)

// step is something that can happen next, to the thing of its kind with that number.
type step struct {
	name string
	of   int
	do   func(*world)
}

// steps returns everything that can happen next.
func (w *world) steps(sc scenario) []step {
	var all []step
	add := func(may bool, name string, do func(*world)) {
		if may {
			all = append(all, step{name, 0, do})
		}
	}
	add(w.conn == 0 && !w.stopped && w.count < connections, "connected", (*world).connect)
	add(w.conn != 0, "connection lost", (*world).lose)
	add(w.conn == 0 && !w.stopped, "attempt failed", func(w *world) { w.carryOut(w.of.disconnected()) })
	add(!w.stopped, "session lost", func(w *world) { w.carryOut(w.of.finish(true)) })
	add(!w.over, "session closed", func(w *world) { w.carryOut(w.of.finish(false)) })
	add(w.over && w.conn == 0 && !w.stopped, "library stopped", (*world).stop)
	add(sc.request && w.request == callIdle, "request", func(w *world) { w.wait(&w.request) })
	for n := range w.restores {
		all = append(all, w.restoreSteps(n)...)
	}
	for i, path := range sc.follow {
		all = append(all, w.callSteps(i, path)...)
	}
	return all
}

func (w *world) restoreSteps(n int) []step {
	switch w.restores[n].state {
	case restoreAsks:
		refused := step{"restore refused", n, func(w *world) { w.restores[n].state = restoreRefused }}
		if !w.serves() {
			return []step{refused}
		}
		return []step{refused, {"restore served", n, func(w *world) { w.serve(n) }}}
	case restoreOK, restoreRefused:
		return []step{{"restore reports", n, func(w *world) { w.report(n) }}}
	case noRestore:
	}
	return nil
}

// callSteps returns the steps of a call to follow. After the end none matters.
func (w *world) callSteps(i int, path string) []step {
	if w.over {
		return nil
	}
	fail := step{"call gives up", i, func(w *world) { w.calls[i] = callDone; w.of.answered(path, false) }}
	switch w.calls[i] {
	case callIdle:
		return []step{{"call asks", i, func(w *world) { w.of.ask(path); w.wait(&w.calls[i]) }}}
	case callWaits:
		return []step{fail}
	case callSent:
		if w.serves() {
			return []step{fail, {"call served", i, func(w *world) { w.calls[i] = callAnswered; w.followed |= bit(path) }}}
		}
		return []step{fail, {"call is to be sent again", i, func(w *world) { w.wait(&w.calls[i]) }}}
	case callAnswered:
		return []step{{"call returns", i, func(w *world) { w.calls[i] = callDone; w.held |= bit(path); w.of.answered(path, true) }}}
	case callDone:
	}
	return nil
}

func bit(path string) uint8 { return 1 << (path[1] - 'a') }

// serves reports whether a request that is sent now reaches the service, even if it was meant
// for an earlier connection.
func (w *world) serves() bool { return w.conn != 0 && !w.hungUp }

func (w *world) connect() {
	w.count++
	w.conn, w.hungUp, w.followed = w.count, false, 0
	w.carryOut(w.of.connected())
}

func (w *world) lose() {
	w.conn, w.hungUp, w.followed = 0, false, 0
	w.carryOut(w.of.disconnected())
}

func (w *world) stop() {
	w.stopped = true
	w.carryOut(w.of.stopped())
}

// serve makes the service follow the next path that goroutine n requests.
func (w *world) serve(n int) {
	r := &w.restores[n]
	next := uint8(1) << bits.TrailingZeros8(r.left)
	w.followed |= next
	if r.left &^= next; r.left == 0 {
		r.state = restoreOK
	}
}

// report makes goroutine n report its result.
func (w *world) report(n int) {
	ok := w.restores[n].state == restoreOK
	w.restores[n] = restorer{}
	o := w.of.restored(n, ok)
	if o.hangUp && int(w.conn) == n {
		w.hungUp = true
	}
	w.carryOut(o)
}

func (w *world) wait(c *caller) {
	switch {
	case w.gate:
		*c = callSent
	case w.over:
		*c = callDone
	default:
		*c = callWaits
	}
}

// carryOut carries out orders as the session would, and checks that they are allowed.
func (w *world) carryOut(o orders) {
	if o.end {
		w.over = true
		w.pass(callDone)
	}
	if o.hold {
		w.insist(w.gate, "requests that wait already are left alone: a second channel takes the place of the first")
		w.gate = false
	}
	w.receive(o.emit)
	if o.release {
		w.insist(!w.gate, "requests are released twice: a channel is closed again")
		w.gate = true
		w.insist(w.conn != 0, "requests are released without a connection")
		w.pass(callSent)
	}
	if o.restore != nil {
		r := &w.restores[w.count]
		r.state = restoreAsks
		for _, path := range o.restore {
			r.left |= bit(path)
		}
		if r.left == 0 {
			r.state = restoreOK
		}
	}
}

// pass releases all waiting callers.
func (w *world) pass(to caller) {
	for _, c := range []*caller{&w.calls[0], &w.calls[1], &w.request} {
		if *c == callWaits && (to == callSent || c == &w.request) {
			*c = to
		}
	}
}

func (w *world) receive(kind registry.EventKind) {
	if kind == 0 {
		return
	}
	w.insist(w.sent != registry.Ended, "an event follows the end")
	w.insist(kind != registry.Suspended || w.sent != registry.Suspended, "suspended twice")
	w.insist(kind != registry.Resumed || w.sent == registry.Suspended, "resumed and not suspended before")
	w.insist(kind != registry.Resumed || w.conn != 0, "resumed without a connection")
	w.sent = kind
}

// check checks what holds at every moment.
func (w *world) check() {
	if w.gate {
		w.insist(w.conn != 0, "requests pass without a connection")
		w.insist(w.over || w.followed&w.held == w.held, "requests pass while a path is not followed")
	}
}

// comeUp checks that the session comes up from here, or ends.
func (w world) comeUp() string {
	for range 20 {
		switch {
		case w.over && w.conn != 0, w.hungUp:
			w.lose()
		case w.over && !w.stopped:
			w.stop()
		case w.over:
			w.insist(w.sent == registry.Ended, "the end is not told")
			w.insist(w.request != callWaits, "a request waits for ever after the end")
			return w.broken
		case w.conn == 0:
			w.connect()
		case w.restores[w.conn].state == restoreAsks:
			w.serve(int(w.conn))
		case w.restores[w.conn].state != noRestore:
			w.report(int(w.conn))
		default:
			w.insist(w.gate, "the session does not come up again")
			w.insist(w.sent != registry.Suspended, "resumed is not told")
			w.insist(w.request != callWaits, "a request waits for ever")
			w.check()
			return w.broken
		}
	}
	return "the session comes up and goes down for ever"
}

func (w *world) insist(holds bool, otherwise string) {
	if !holds && w.broken == "" {
		w.broken = otherwise
	}
}

// explore visits every state, those with the fewest steps first. It returns the number of
// states, or a broken promise with the steps that lead to it.
func explore(fault int, sc scenario) (states int, broken string) {
	type found struct {
		world
		from int // index of the previous state
		by   step
	}
	first := world{of: faulty{fault: fault}}
	all := []found{{world: first}}
	seen := map[state]struct{}{first.state(): {}}
	for from := 0; from < len(all); from++ {
		for _, s := range all[from].steps(sc) {
			w := all[from].world
			s.do(&w)
			w.check()
			at := w.state()
			if _, known := seen[at]; known {
				continue
			}
			seen[at] = struct{}{}
			all = append(all, found{w, from, s})
			if b := w.comeUp(); b != "" {
				var steps []string
				for i := len(all) - 1; i > 0; i = all[i].from {
					steps = append(steps, fmt.Sprintf("%s (%d)", all[i].by.name, all[i].by.of))
				}
				slices.Reverse(steps)
				return len(all), b + ": " + strings.Join(steps, ", ")
			}
		}
	}
	return len(all), ""
}

// state is a world in a comparable form.
type state struct {
	around
	phase                  phase
	number                 int
	suspended, over, ended bool
	follows                [2]follow
}

func (w *world) state() state {
	c := w.of.connection
	s := state{around: w.around, phase: c.phase, number: c.number, suspended: c.suspended, over: c.over, ended: c.ended}
	copy(s.follows[:], c.follows)
	return s
}
