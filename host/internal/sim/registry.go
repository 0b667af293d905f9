package sim

import (
	"errors"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// The registry of the simulation: one true order of transactions, and for each session a
// replica that lags behind it. Reads come from the replica, one by one. Events of all
// nodes below the job come when the replica passes the change, on the same line as the
// replies. A broken connection loses messages on their way, though the server may still
// apply a request that it held.

type txn struct {
	rev     int64
	changes []tree.Change
}

type version struct {
	rev  int64
	node *registry.Node
}

type server struct {
	tree   *tree.Tree
	log    []txn // transactions that some replica has not passed
	hist   map[string][]version
	absent registry.Node // what a read of a node shows that never existed
}

type session struct {
	w           *World
	id          registry.SessionID
	alive       bool // as the server sees it
	epoch       int  // of the connection; counts both breaks and new connections
	returns     int  // number of new connections
	connected   bool
	replica     int64
	wrote       int64    // revision of its newest transaction
	deafen      func()   // breaks the connection after the next transaction is applied
	stalled     int64    // until then the replica stands still
	held        []func() // functions that wait for the replica, in order
	alone       bool     // its server was replaced and does not know it
	undecided   []func() // transactions that this server holds, in order
	overdue     []func() // requests of the old connection that may still be applied
	strays      []func() // requests that arrive after the member's writes on the new connection
	timeout     int64    // as it was negotiated
	overdrawn   bool     // it will end just before the next instant
	lastContact int64    // when the server received the newest message of the client
	toServer    int64    // arrival of the newest message, in each direction
	toClient    int64
	requests    *line[request] // of the newest connection; nil before the first
	messages    *line[message]
	deliver     func(message) // to the member
	persistent  bool          // its watches persist, and miss changes from a time without connection
	deaf        bool          // it is passing such changes
}

// newSession opens a session, whose messages deliver receives.
func (w *World) newSession(timeout int64, deliver func(message)) *session {
	w.sessions++
	s := &session{
		w: w, id: registry.SessionID(w.sessions), timeout: timeout, alive: true, connected: true,
		replica: w.tree.Revision(), lastContact: w.now, deliver: deliver,
	}
	w.live = append(w.live, s)
	w.at(s.lastContact+s.timeout, func() { w.expire(s, w.chance(w.profile.untimely)) })
	return s
}

// expire ends a session that has been silent for its time-out; otherwise it looks again
// later. A server may end a session late. The worst moment is just before the next
// instant, so some wait until then.
func (w *World) expire(s *session, late bool) {
	switch {
	case !s.alive:
	case w.now-s.lastContact < s.timeout:
		w.at(s.lastContact+s.timeout, func() { w.expire(s, w.chance(w.profile.untimely)) })
	case !w.calm && !s.overdrawn && w.ledger.v != nil && w.ledger.v.Config != nil && (late || w.chance(w.profile.races)):
		o := w.waitingOwner(s)
		s.overdrawn = true
		if !late && o == nil {
			w.expire(s, false)
			return
		}
		w.after(w.untilTick(o)-w.between(0, 60*millisecond), func() { w.expire(s, false) })
	default:
		w.tracef("server: session %d expires", s.id)
		w.endSession(s)
	}
}

// endSession ends a session, and deletes its ephemeral nodes.
func (w *World) endSession(s *session) {
	if !s.alive {
		return
	}
	s.alive = false
	for k, l := range w.live {
		if l == s {
			w.live = append(w.live[:k:k], w.live[k+1:]...)
			break
		}
	}
	w.record(w.tree.EndSession(s.id, w.now/millisecond), origin{what: "session end"})
}

// record adds a transaction to history and log, notifies the replicas after a while, and
// has the ledger check it.
func (w *World) record(changes []tree.Change, by origin) {
	rev := w.tree.Revision()
	for k := range changes {
		c := &changes[k]
		h := w.hist[c.Path]
		if n := len(h); n > 0 && h[n-1].rev == rev {
			h[n-1].node = &c.Node
			continue
		}
		if len(h) >= 16 {
			h = w.trim(h)
		}
		w.hist[c.Path] = append(h, version{rev, &c.Node})
	}
	w.log = append(w.log, txn{rev, changes})
	if len(w.log) > 256 {
		w.trimLog()
	}
	for _, s := range w.live {
		w.after(w.lag(), func() { s.advance(rev) })
	}
	w.ledger.check(changes, by)
}

// oldest returns the revision that every replica has passed.
func (w *World) oldest() int64 {
	o := w.tree.Revision()
	for _, s := range w.live {
		o = min(o, s.replica)
	}
	return o
}

// trim drops versions of a node that no replica shows any more.
func (w *World) trim(h []version) []version {
	o := w.oldest()
	k := 0
	for k+1 < len(h) && h[k+1].rev <= o {
		k++
	}
	return append([]version(nil), h[k:]...)
}

// trimLog drops transactions that every replica has passed.
func (w *World) trimLog() {
	o := w.oldest()
	k := 0
	for k < len(w.log) && w.log[k].rev <= o {
		k++
	}
	w.log = append([]txn(nil), w.log[k:]...)
}

// stall stops the replica for a while. Its server goes on answering: reads are old, and
// commits and syncs are answered late.
func (s *session) stall(d int64) {
	if s.alone {
		return // it stands still already
	}
	s.stalled = s.w.now + d
	epoch := s.epoch
	s.w.at(s.stalled, func() {
		if s.epoch != epoch || s.w.now < s.stalled {
			return
		}
		s.advance(s.w.tree.Revision())
		todo := s.held
		s.held = nil
		for _, do := range todo {
			do()
		}
	})
}

// drop breaks the connection. Messages on their way are lost, and so is what the server
// held back for the client.
func (s *session) drop() {
	s.epoch++ // callbacks of the former connection see that it is over
	s.connected = false
	s.held, s.stalled = nil, 0
	s.alone, s.undecided = false, nil
}

// caughtUp calls do once the replica shows everything that exists now.
func (s *session) caughtUp(do func()) {
	if s.w.now < s.stalled {
		s.held = append(s.held, do)
		return
	}
	s.advance(s.w.tree.Revision())
	do()
}

// advance applies transactions to the session's replica up to rev.
func (s *session) advance(rev int64) {
	w := s.w
	if !s.alive || !s.connected || s.alone || rev <= s.replica || w.now < s.stalled {
		return
	}
	from := s.replica
	s.replica = rev
	k := len(w.log)
	for k > 0 && w.log[k-1].rev > from {
		k--
	}
	for ; k < len(w.log) && w.log[k].rev <= rev; k++ {
		for n, c := range w.log[k].changes {
			if s.deaf || !strings.HasPrefix(c.Path, w.job.Root()) || again(w.log[k].changes[:n], c) {
				continue
			}
			times := 1
			if c.Kind == tree.ChildrenChanged {
				times = 0 // the node itself has not changed
			}
			s.client(message{event: registry.Event{Kind: registry.Changed, Path: c.Path, Changes: times, Gone: times > 0 && !c.Node.Exists}})
		}
	}
}

// again reports whether the transaction created the node of c before it set it; a later
// reader sees one change.
func again(before []tree.Change, c tree.Change) bool {
	return c.Kind == tree.DataSet && slices.ContainsFunc(before, func(b tree.Change) bool { return b.Kind == tree.Created && b.Path == c.Path })
}

// node returns a node of the replica.
func (s *session) node(path string) *registry.Node {
	h := s.w.hist[path]
	for _, v := range slices.Backward(h) {
		if v.rev <= s.replica {
			return v.node
		}
	}
	return &s.w.absent
}

// lag of a replica behind a transaction.
func (w *World) lag() int64 {
	if w.chance(w.slow) {
		return w.between(50*millisecond, 1500*millisecond)
	}
	return w.between(200, 8*millisecond)
}

// delay of a message.
func (w *World) delay() int64 {
	if w.chance(w.slow / 4) {
		return w.between(20*millisecond, 400*millisecond)
	}
	return w.between(50, 2*millisecond)
}

// client sends a message to the member. Messages keep their order, and are lost if the
// connection breaks before they arrive.
func (s *session) client(m message) {
	w := s.w
	if !s.connected {
		return
	}
	s.toClient = max(s.toClient+1, w.now+w.delay())
	l := s.messages
	if l == nil || l.epoch != s.epoch {
		l = &line[message]{epoch: s.epoch}
		l.arrives = func() {
			if m := l.arrived(); s.epoch == l.epoch {
				s.deliver(m)
			}
		}
		s.messages = l
	}
	l.send(m)
	w.at(s.toClient, l.arrives)
}

// request sends a request, which the server carries out when it arrives. A request whose
// connection breaks before that is lost, unless late is given: then it may be applied all
// the same, with beyond even if the session has had another connection meanwhile.
func (s *session) request(do func(), late func(), beyond bool) {
	s.ask(request{do: do, late: late, beyond: beyond})
}

// ask sends a request on the session's connection. Requests of one connection arrive in
// their order; a request of a connection that is lost may arrive late.
func (s *session) ask(r request) {
	w := s.w
	s.toServer = max(s.toServer+1, w.now+w.delay())
	if !s.connected {
		w.at(s.toServer, func() {}) // it is lost
		return
	}
	l := s.requests
	if l == nil || l.epoch != s.epoch {
		l = &line[request]{epoch: s.epoch}
		l.arrives = func() {
			r := l.arrived()
			switch {
			case s.epoch == l.epoch && s.alone: // its contact does not count
				s.carryOut(&r)
			case s.epoch == l.epoch && s.alive:
				s.lastContact = w.now
				s.carryOut(&r)
			case s.epoch == l.epoch: // the session is over
				s.client(message{event: registry.Event{Kind: registry.Ended}})
			case s.alive && r.late != nil && !s.connected && w.chance(w.profile.late):
				if strays := r.beyond && w.chance(w.profile.beyond); strays || s.returns == r.returns {
					s.afterwards(r.late, strays)
				}
			}
		}
		s.requests = l
	}
	r.returns = s.returns
	l.send(r)
	w.at(s.toServer, l.arrives)
}

// sync replies once the server has a majority and the replica shows all that exists
// then.
func (s *session) sync(reply func()) {
	s.request(func() {
		s.decide(func() {
			s.caughtUp(func() { s.client(message{reply: reply}) })
		})
	}, nil, false)
}

// commit applies ops to the true tree. The reply follows the events. A join does not arrive
// after a new connection, since a member that joined twice would be two members.
func (s *session) commit(ops []registry.Op, by origin, reply func(receipt registry.Receipt, err error)) {
	w := s.w
	_, joins := by.m.(protocol.Join)
	s.request(func() {
		s.decide(func() {
			receipt, err := w.transact(s, ops, by)
			if err == nil {
				s.stray()
			}
			if then := s.deafen; then != nil {
				s.deafen = nil
				then()
			}
			s.caughtUp(func() { s.client(message{reply: func() { reply(receipt, err) }}) })
		})
	}, func() {
		w.tracef("server: late write of %s", by)
		w.apply(s, ops, by)
	}, !joins)
}

// apply is transact for callers that ignore the answer.
func (w *World) apply(s *session, ops []registry.Op, by origin) {
	_, _ = w.transact(s, ops, by) // the trace has the refusal
}

// transact applies a transaction to the true tree, and has the ledger check it. s is the
// session that owns ephemeral nodes; nil: a tool writes.
func (w *World) transact(s *session, ops []registry.Op, by origin) (registry.Receipt, error) {
	owner := registry.SessionID(0)
	if s != nil {
		owner = s.id
	}
	w.ledger.sized(ops, by)
	receipt, changes, err := w.tree.Commit(owner, w.now/millisecond, ops)
	if err != nil {
		if c := (*registry.ConflictError)(nil); errors.As(err, &c) {
			w.conflicts++
			w.tracef("server: refused %s: %v", by, err)
		}
		return registry.Receipt{}, err
	}
	w.tracef("server: %d %s", receipt.Revision, by)
	if by.m != nil {
		w.committed[by.m.Name()]++
	}
	if s != nil {
		s.wrote = receipt.Revision
	}
	w.record(changes, by)
	return receipt, nil
}
