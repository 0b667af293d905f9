package sim

import "github.com/wasmjob/wasmjob/host/registry"

// line holds the messages on their way in one direction of a connection. They arrive in
// the order in which they were sent, so all share one function.
type line[T any] struct {
	epoch   int // of the connection
	under   []T
	first   int // of the messages that have not arrived
	arrives func()
}

func (l *line[T]) send(x T) { l.under = append(l.under, x) }

// arrived removes and returns the oldest message.
func (l *line[T]) arrived() T {
	var none T
	x := l.under[l.first]
	l.under[l.first] = none
	if l.first++; l.first == len(l.under) {
		l.under, l.first = l.under[:0], 0
	}
	return x
}

// message is an event or an answer on its way to a member.
type message struct {
	event registry.Event
	beat  int64 // the heartbeat that it answers was sent then; 0: it answers none
	reply func()
	shown func(registry.Node) // receives the answer to a read,
	node  *registry.Node      // which is this node
}

// answer delivers the message if it is an answer.
func (m *message) answer() bool {
	switch {
	case m.shown != nil:
		m.shown(*m.node)
	case m.reply != nil:
		m.reply()
	default:
		return false
	}
	return true
}

// request is a request on its way to the server.
type request struct {
	path     string              // of a read, which most requests are,
	shown    func(registry.Node) // and who receives the answer
	beat     int64               // of a heartbeat: when it was sent
	do, late func()              // of any other
	returns  int                 // of the session when it was sent
	beyond   bool
}

// read answers with the replica's node.
func (s *session) read(path string, reply func(registry.Node)) {
	s.ask(request{path: path, shown: reply})
}

// carryOut carries out a request that has arrived.
func (s *session) carryOut(r *request) {
	if beat := r.beat; beat != 0 {
		s.decide(func() { s.client(message{beat: beat}) })
		return
	}
	if r.shown == nil {
		r.do()
		return
	}
	if s.w.chance(0.3) {
		s.advance(s.replica + s.w.between(0, s.w.tree.Revision()-s.replica+1))
	}
	if path, to := r.path, r.shown; len(s.held) > 0 {
		s.held = append(s.held, func() { s.show(path, to) })
	} else {
		s.show(path, to)
	}
}

func (s *session) show(path string, to func(registry.Node)) {
	s.client(message{shown: to, node: s.node(path)})
}
