package sim

import "github.com/wasmjob/wasmjob/host/registry"

// line holds the messages on their way in one direction of a connection. They arrive in
// the order in which they were sent, so all share one function.
type line[T any] struct {
	epoch   int // of the connection
	under   []T
	first   int // index of the oldest message that has not arrived
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
	beat  int64 // when the heartbeat was sent that it answers; 0: it answers none
	reply func()
	shown func(registry.Node) // receives the node that was read
	node  *registry.Node      // the node that was read
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
	path     string              // of the node to read, as in most requests
	shown    func(registry.Node) // receives the node that was read
	beat     int64               // when the heartbeat was sent; 0: it is none
	do, late func()              // what any other request does: in time, or late
	returns  int                 // value of the session's returns when it was sent
	beyond   bool                // it may be applied later than ZooKeeper would, see afterwards
}

// read answers with the replica's node.
func (s *session) read(path string, reply func(registry.Node)) {
	s.ask(request{path: path, shown: reply})
}

// carryOut carries out a request that has arrived at the server. A heartbeat needs a
// majority. Before a read the replica sometimes advances, and a read waits behind
// answers that are held.
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

// show answers a read with the replica's node as it is now.
func (s *session) show(path string, to func(registry.Node)) {
	s.client(message{shown: to, node: s.node(path)})
}
