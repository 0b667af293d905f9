package sim

import "github.com/wasmjob/wasmjob/host/registry"

// line is what is under way in one direction of a connection. It arrives in the
// order in which it was sent, so all of it shares one function to be called.
type line[T any] struct {
	epoch   int // of the connection
	under   []T
	first   int // of those that have not arrived
	arrives func()
}

func (l *line[T]) send(x T) { l.under = append(l.under, x) }

// arrived is what was sent first.
func (l *line[T]) arrived() T {
	var none T
	x := l.under[l.first]
	l.under[l.first] = none
	if l.first++; l.first == len(l.under) {
		l.under, l.first = l.under[:0], 0
	}
	return x
}

// message is what reaches a member: an event, or an answer.
type message struct {
	event registry.Event
	reply func()
	shown func(registry.Node) // the answer to a read,
	node  *registry.Node      // and what was read
}

// answer calls whoever waits for the answer, if it is one.
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

// request is what reaches the server.
type request struct {
	do, late func()
	returns  int // of the session when it was sent
	beyond   bool
}
