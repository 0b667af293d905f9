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
	do, late func()
	returns  int // of the session when it was sent
	beyond   bool
}
