package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// jvm is a process with a member of ElasticJob: of 2.1.5, or of 3.0.4 in a world of layout
// 3. It does what that version does on the tree, with one request at a time and with the
// reads in between, so that everything interleaves as in the original, including its
// faults.
type jvm struct {
	w       *World
	label   string // for people
	ip      string
	pid     int
	timeout int64 // of its sessions
	up      bool
	life    int
	retired bool // it does not come back

	frozen  bool
	backlog []func()

	s             *session
	threads       []*thread
	copy          treeCache
	notices       []notice            // notices that the listeners have not handled
	wakeListeners func()              // wakes them
	order         []int               // of the listeners of 3.0.4, which differs from process to process
	gone          map[string][]func() // functions that wait for a node to be removed, by path

	worker    func() // wakes the worker
	asked     int    // triggers that it has not answered
	period    int64  // of the schedule, ms
	due       int64  // the next instant
	fired     bool   // an instant has been answered
	total     int    // as last read from its copy
	paused    bool   // the connection is lost
	scheduled bool   // its start came so far
	returns   int    // new connections that it has not reacted to
	busy      bool   // an instant or a trigger is being answered
	running   bool   // items run
	leaving   bool   // it was asked to end
	shut      bool   // an operator ended the job here
	stuck     bool   // it has a node in a queue that it does not know
	replace   bool   // it overwrites the configuration in the registry
	config    *protocol.Config
	text      string // of config
	read      int    // how many reads it has made
	rounds
}

func (j *jvm) name() string { return fmt.Sprintf("java %s/%d", j.label, j.life) }

func (j *jvm) id() protocol.ID { return protocol.ID(j.ip + "@-@" + strconv.Itoa(j.pid)) }

// turn calls do now, or when the process wakes if it is still the same process.
func (j *jvm) turn(life int, do func()) {
	switch {
	case !j.up || j.life != life || j.w.broken():
	case j.frozen:
		j.backlog = append(j.backlog, func() { j.turn(life, do) })
	default:
		do()
	}
}

// later calls do after d microseconds, as turn does.
func (j *jvm) later(d int64, do func()) {
	life := j.life
	j.w.after(d, func() { j.turn(life, do) })
}

// start starts a new process on the same server.
func (j *jvm) start() {
	j.life++
	j.pid++
	w, was := j.w, *j
	*j = jvm{w: w, label: was.label, ip: was.ip, pid: was.pid, timeout: was.timeout, up: true, life: was.life, replace: !w.calm && !w.driver.on() && w.chance(0.1)}
	if w.three {
		j.order, j.waits = w.shuffled(listeners3), map[string]func(){}
	}
	w.ledger.foreignIDs[j.id()] = true
	w.tracef("%s: starts as %s", j.name(), j.id())
	w.ledger.javaStarted = w.now
	j.connect()
	j.ping()
	j.spawn(j.startUp)
}

// connect opens a session. The foreign process gets what the registry sends at once; a
// frozen one, when it thaws.
func (j *jvm) connect() {
	life := j.life
	j.s = j.w.newSession(j.timeout, func(m message) {
		if j.frozen {
			j.turn(life, func() { j.receive(m) })
		} else if j.up && j.life == life && !j.w.broken() {
			j.receive(m)
		}
	})
	j.s.persistent = j.w.three // 3.0.4 uses persistent watches
	j.w.ledger.sessions[int64(j.s.id)] = true
	j.w.tracef("%s: opens session %d", j.name(), j.s.id)
}

// ping keeps the session alive: it sends an empty request three times in each time-out.
func (j *jvm) ping() {
	j.s.request(func() {}, nil, false)
	j.later(j.timeout/3, j.ping)
}

// receive handles a message of the registry. After the end of its session, ElasticJob's
// client opens another one by itself.
func (j *jvm) receive(m message) {
	switch {
	case m.answer():
	case m.event.Kind == registry.Ended:
		if !j.s.alive {
			j.suspended()
			j.connect()
			j.resumed()
		}
	default:
		j.changed(m.event)
	}
}

// exit ends the process. Its session goes on until it has been silent for the time-out.
func (j *jvm) exit() {
	j.w.tracef("%s: its process ends", j.name())
	for len(j.threads) > 0 {
		t := j.threads[0]
		j.threads = j.threads[1:]
		t.stop()
	}
	j.up, j.frozen, j.backlog = false, false, nil
	j.w.ledger.killed = j.w.now // with long runs, terminate came long before
	j.s.drop()
}

// terminate is the reaction to SIGTERM: runs come to their end, and nothing new begins.
func (j *jvm) terminate() {
	if j.leaving {
		return
	}
	j.w.tracef("%s: is told to end", j.name())
	j.leaving = true
	j.spawn(func(t *thread) {
		for k := 0; j.busy && k < 200; k++ { // after 4 s it is killed
			t.sleep(20 * millisecond)
		}
		if !j.shut && !j.busy { // a process that is killed removes nothing
			if j.leads(t) {
				t.remove(j.w.nodes.leader)
			}
			t.remove(j.instance())
		}
		j.w.after(j.w.between(1, 50*millisecond), func() {
			if j.up {
				j.exit()
			}
		})
	})
}

// freeze stops the process; what it would do meanwhile waits in the backlog.
func (j *jvm) freeze() {
	j.w.tracef("%s: freezes", j.name())
	j.frozen = true
}

// thaw lets a frozen process do what has waited.
func (j *jvm) thaw() {
	if !j.frozen {
		return
	}
	j.w.tracef("%s: thaws", j.name())
	j.frozen = false
	todo := j.backlog
	j.backlog = nil
	for _, do := range todo {
		do()
	}
}

// cut breaks the connection for a while.
func (j *jvm) cut(d int64) {
	s, life := j.s, j.life
	if !s.connected {
		return
	}
	j.w.tracef("%s: its connection breaks", j.name())
	s.drop()
	j.later(min(d/2, 5*millisecond), j.suspended)
	j.w.after(d, func() { j.turn(life, func() { j.reconnect(s) }) })
}

// reconnect connects the process again: in its session if that lives, else in another. A
// session that it no longer has is left alone.
func (j *jvm) reconnect(s *session) {
	if j.s != s || s.connected {
		return
	}
	s.epoch++
	if s.alive {
		j.w.tracef("%s: reconnects", j.name())
		s.reconnected()
	} else {
		j.connect()
	}
	j.suspended()
	j.resumed()
}

// suspended is the reaction to a lost connection: the schedule pauses. 3.0.4 pauses only
// a schedule that it has made by then.
func (j *jvm) suspended() { j.paused = j.scheduled || !j.w.three }

// wakeAll wakes the functions that wait for nodes to be removed, in the order of their
// paths, so that a seed always has the same trace.
func (j *jvm) wakeAll() {
	for _, p := range slices.Sorted(maps.Keys(j.gone)) {
		for _, wake := range j.gone[p] {
			wake()
		}
	}
	j.gone = nil
}

// resumed is the reaction to a new connection, in the same session or another: reads are
// repeated, queues are entered again, and the member registers again, for which it
// deletes its node.
func (j *jvm) resumed() {
	for _, t := range slices.Clone(j.threads) {
		if t.asking {
			t.lost = true
			t.waker()()
		}
	}
	j.wakeAll()
	j.reload()
	if !j.w.three {
		j.spawn(j.registerAgain)
	} else if j.returns++; j.returns == 1 {
		j.spawn(j.registerInTurn)
	}
}

// registerAgain registers the member after a new connection. Its items are taken for not
// running, though they may run, and the schedule goes on.
func (j *jvm) registerAgain(t *thread) {
	if j.shut || j.leaving {
		return
	}
	j.register(t, j.enabled(t, j.ip))
	items := j.mine(t, j.id())
	for _, i := range items {
		t.remove(j.w.nodes.item(i, markRunning))
	}
	j.paused = false
	j.wake()
}

// registerInTurn is the one thread of 3.0.4 that reacts to new connections. If
// registerAgain fails, the schedule stays paused until the next one.
func (j *jvm) registerInTurn(t *thread) {
	for ; j.returns > 0; j.returns-- {
		t.try(func() { j.registerAgain(t) })
	}
}
