package zk

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
)

// TestConnection_every_order tries every order of a connection's events that the client library
// can report, until there is no new state: connections come and go while two calls ask to
// follow and a request may wait. From every state the session must come up again, or end.
func TestConnection_every_order(t *testing.T) {
	t.Parallel()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			states, broken := explore(0, sc)
			if broken != "" {
				t.Error(broken)
			}
			t.Logf("%d states", states)
		})
	}
}

// TestConnection_faults removes the parts that keep the promises, one at a time.
func TestConnection_faults(t *testing.T) {
	t.Parallel()
	for fault, name := range faults {
		if fault == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, sc := range scenarios {
				if _, broken := explore(fault, sc); broken != "" {
					t.Log(broken)
					return
				}
			}
			t.Error("no promise is broken")
		})
	}
}

// scenario is the use of a session: two calls that follow, and perhaps a request that waits for
// the connection.
type scenario struct {
	name    string
	follow  [2]string
	request bool
}

var scenarios = [...]scenario{
	{"one path twice, and a request", [2]string{"/a", "/a"}, true},
	{"two paths", [2]string{"/a", "/b"}, false},
}

// connections is the number of connections that come and go before one stays.
const connections = 3

// faulty is a connection that may have a fault.
type faulty struct {
	connection
	fault int
}

const (
	lossForgotten = iota + 1
	anyAnswer
	heldAlone
	hangUpForgotten
	othersForgotten
	upAtOnce
	releasedOnce
	endedTwice
	suspendedAfterEnd
	resumedAtFirst
)

var faults = [...]string{
	lossForgotten:     "a loss before all is restored is forgotten",
	anyAnswer:         "the answer of an old connection counts for the new one",
	heldAlone:         "what is asked for is not restored",
	hangUpForgotten:   "a connection that cannot be restored is kept",
	othersForgotten:   "a call that fails takes the path from another",
	upAtOnce:          "a connection is up before all is restored",
	releasedOnce:      "requests wait for ever after the first loss",
	endedTwice:        "the end is told twice",
	suspendedAfterEnd: "a loss is told after the end",
	resumedAtFirst:    "the first connection is told as resumed",
}

func (f *faulty) connected() orders {
	o := f.connection.connected()
	switch {
	case f.fault == heldAlone && o.restore != nil:
		o.restore = slices.DeleteFunc(o.restore, func(path string) bool {
			return !slices.ContainsFunc(f.follows, func(g follow) bool { return g.path == path && g.held })
		})
	case f.fault == upAtOnce && o.restore != nil:
		return f.ready()
	case f.fault == resumedAtFirst && o.release:
		o.emit = registry.Resumed
	}
	return o
}

func (f *faulty) disconnected() orders {
	if f.fault == lossForgotten && f.phase != up {
		return orders{}
	}
	o := f.connection.disconnected()
	if f.fault == suspendedAfterEnd && o.hold {
		o.emit = registry.Suspended
	}
	return o
}

func (f *faulty) restored(number int, ok bool) orders {
	if f.fault == anyAnswer {
		number = f.number
	}
	o := f.connection.restored(number, ok)
	if f.fault == hangUpForgotten {
		o.hangUp = false
	}
	if f.fault == releasedOnce && o.emit == registry.Resumed {
		o.release = false
	}
	return o
}

func (f *faulty) stopped() orders {
	if f.fault == endedTwice {
		f.ended = false
	}
	return f.connection.stopped()
}

func (f *faulty) answered(path string, ok bool) {
	f.connection.answered(path, ok)
	if f.fault == othersForgotten && !ok {
		f.follows = slices.DeleteFunc(slices.Clone(f.follows), func(g follow) bool { return g.path == path })
	}
}
