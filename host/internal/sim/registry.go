package sim

import (
	"errors"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// The registry of the simulation: one true order of transactions, and for each
// session a replica that lags behind it. Reads come from the replica, one by
// one; watches fire once, when the replica passes the change, and travel on
// the same line as the replies; a broken connection loses what is under way,
// though the server may still apply a request that it held.

type txn struct {
	rev     int64
	changes []tree.Change
}

type version struct {
	rev  int64
	node registry.Node
}

type server struct {
	tree *tree.Tree
	log  []txn // of revisions that some replica has not passed
	hist map[string][]version
}

type session struct {
	w         *World
	id        registry.SessionID
	alive     bool // for the server
	epoch     int  // of the connection
	connected bool
	replica   int64
	armed     map[string]bool
	heard     int64 // when the server last heard of the client
	toServer  int64 // arrival of the newest message, each way
	toClient  int64
	deliver   func(message) // to the member
}

// message is what reaches a member.
type message struct {
	event registry.Event
	reply func()
}

func (w *World) newSession(deliver func(message)) *session {
	w.sessions++
	s := &session{w: w, id: registry.SessionID(w.sessions), alive: true, connected: true, replica: w.tree.Revision(), armed: map[string]bool{}, heard: w.now, deliver: deliver}
	w.live = append(w.live, s)
	w.watchExpiry(s)
	return s
}

func (w *World) watchExpiry(s *session) {
	w.at(s.heard+w.timeout, func() {
		switch {
		case !s.alive:
		case w.now-s.heard >= w.timeout:
			w.tracef("server: session %d expires", s.id)
			w.endSession(s)
		default:
			w.watchExpiry(s)
		}
	})
}

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
	w.record(w.tree.EndSession(s.id, w.now/millisecond), author{what: "session end"})
}

// record takes a transaction into history and log, tells the replicas after a
// while, and lets the ledger judge it.
func (w *World) record(changes []tree.Change, by author) {
	rev := w.tree.Revision()
	for _, c := range changes {
		h := w.hist[c.Path]
		if n := len(h); n > 0 && h[n-1].rev == rev {
			h[n-1].node = c.Node
			continue
		}
		if len(h) >= 16 {
			h = w.trim(h)
		}
		w.hist[c.Path] = append(h, version{rev, c.Node})
	}
	w.log = append(w.log, txn{rev, changes})
	if len(w.log) > 256 {
		w.trimLog()
	}
	for _, s := range w.live {
		w.after(w.lag(), func() { s.advance(rev) })
	}
	w.ledger.judge(changes, by)
}

func (w *World) oldest() int64 {
	o := w.tree.Revision()
	for _, s := range w.live {
		o = min(o, s.replica)
	}
	return o
}

func (w *World) trim(h []version) []version {
	o := w.oldest()
	k := 0
	for k+1 < len(h) && h[k+1].rev <= o {
		k++
	}
	return append([]version(nil), h[k:]...)
}

func (w *World) trimLog() {
	o := w.oldest()
	k := 0
	for k < len(w.log) && w.log[k].rev <= o {
		k++
	}
	w.log = append([]txn(nil), w.log[k:]...)
}

// advance applies transactions to the session's replica up to rev.
func (s *session) advance(rev int64) {
	if !s.alive || rev <= s.replica {
		return
	}
	w := s.w
	from := s.replica
	s.replica = rev
	if len(s.armed) == 0 {
		return
	}
	k := len(w.log)
	for k > 0 && w.log[k-1].rev > from {
		k--
	}
	for ; k < len(w.log) && w.log[k].rev <= rev; k++ {
		for _, c := range w.log[k].changes {
			if s.armed[c.Path] {
				delete(s.armed, c.Path)
				s.client(message{event: registry.Event{Kind: registry.Changed, Path: c.Path}})
			}
		}
	}
}

// node is what the replica holds.
func (s *session) node(path string) registry.Node {
	h := s.w.hist[path]
	for k := len(h) - 1; k >= 0; k-- {
		if h[k].rev <= s.replica {
			return h[k].node
		}
	}
	return registry.Node{}
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

// client sends a message to the member: in order, lost if the connection
// breaks before it arrives.
func (s *session) client(m message) {
	w := s.w
	if !s.connected {
		return
	}
	s.toClient = max(s.toClient+1, w.now+w.delay())
	epoch := s.epoch
	w.at(s.toClient, func() {
		if s.epoch == epoch {
			s.deliver(m)
		}
	})
}

// request sends a request to the server. If the connection breaks before it
// arrives it is lost, or, with late, perhaps carried out all the same.
func (s *session) request(do func(), late func()) {
	w := s.w
	s.toServer = max(s.toServer+1, w.now+w.delay())
	epoch, sent := s.epoch, s.connected
	w.at(s.toServer, func() {
		switch {
		case sent && s.epoch == epoch && s.alive:
			s.heard = w.now
			do()
		case sent && s.epoch == epoch:
			s.client(message{event: registry.Event{Kind: registry.Ended}})
		case sent && s.alive && late != nil && w.chance(0.3):
			w.after(w.between(0, w.timeout/2), late)
		}
	})
}

// read answers with the replica's node and arms the watch there.
func (s *session) read(path string, reply func(registry.Node)) {
	s.request(func() {
		if s.w.chance(0.3) {
			s.advance(s.replica + s.w.between(0, s.w.tree.Revision()-s.replica+1))
		}
		n := s.node(path)
		s.armed[path] = true
		s.client(message{reply: func() { reply(n) }})
	}, nil)
}

func (s *session) sync(reply func()) {
	s.request(func() {
		s.advance(s.w.tree.Revision())
		s.client(message{reply: reply})
	}, nil)
}

// commit applies ops on the true tree; the reply follows the events.
func (s *session) commit(ops []registry.Op, by author, reply func(rev int64, ok bool)) {
	w := s.w
	s.request(func() {
		rev, ok := w.apply(s, ops, by)
		s.advance(w.tree.Revision())
		s.client(message{reply: func() { reply(rev, ok) }})
	}, func() {
		if s.alive {
			w.tracef("server: late write of %s", by)
			w.apply(s, ops, by)
		}
	})
}

func (w *World) apply(s *session, ops []registry.Op, by author) (int64, bool) {
	owner := registry.SessionID(0)
	if s != nil {
		owner = s.id
	}
	receipt, changes, err := w.tree.Commit(owner, w.now/millisecond, ops)
	if err != nil {
		if c := (*registry.ConflictError)(nil); errors.As(err, &c) {
			w.conflicts++
			w.tracef("server: refused %s: %v", by, err)
		}
		return 0, false
	}
	w.tracef("server: %d %s", receipt.Revision, by)
	if by.m != nil {
		w.committed[by.m.Name()]++
	}
	w.record(changes, by)
	return receipt.Revision, true
}

// author of a transaction.
type author struct {
	member *member
	m      protocol.Mutation
	what   string
}

func (a author) String() string {
	if a.m == nil {
		return a.what
	}
	return a.member.name() + " " + describe(a.m)
}
