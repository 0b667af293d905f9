package zk

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/registry"
)

// connection is what a session knows of its connection and of the paths that
// are followed there. Each method takes an event and returns what the session
// has to do. It has no goroutine, lock, channel or clock, so a test can put
// every event between every two others.
//
// The service forgets what is followed when the connection is lost. So a new
// connection is restoring until it follows the same paths; only then it is up.
// Requests wait while it is not.
type connection struct {
	phase     phase
	number    int      // of the newest connection; 0: there was none
	follows   []string // paths, also those that somebody asks to follow; a new slice with each change
	suspended bool     // the owner was told, and not yet told of the opposite
	over      bool     // the session has ended, or was told to
	ended     bool     // the owner was told
}

type phase uint8

const (
	down phase = iota
	restoring
	up
)

// orders are what a session has to do after an event of its connection.
type orders struct {
	end     bool               // let nothing connect any more, and nobody wait
	hold    bool               // let requests wait from now on
	tell    registry.EventKind // to the owner; 0: nothing
	release bool               // let the requests go that wait
	restore []string           // follow these paths, then call restored
	hangUp  bool               // end the connection that the event is about
}

// connected says that the client library has a connection with the session.
func (c *connection) connected() orders {
	if c.over {
		return orders{}
	}
	c.number++
	if len(c.follows) == 0 {
		return c.ready()
	}
	c.phase = restoring
	// A path that is only asked for may have been followed on the connection
	// before, and the call that asks does not know it yet.
	return orders{restore: c.follows}
}

// restored says that all paths of the order for a connection are followed, or
// that one could not be. The client library may answer when that connection is
// lost: then the next one is restored by itself.
func (c *connection) restored(number int, ok bool) orders {
	if c.over || c.phase != restoring || c.number != number {
		return orders{}
	}
	if !ok {
		return orders{hangUp: true} // else the owner would miss changes
	}
	return c.ready()
}

func (c *connection) ready() orders {
	c.phase = up
	o := orders{release: true}
	if c.suspended {
		c.suspended, o.tell = false, registry.Resumed
	}
	return o
}

// disconnected says that the connection is lost, or that an attempt failed.
func (c *connection) disconnected() orders {
	was := c.phase
	c.phase = down
	if was != up {
		return orders{} // requests wait already
	}
	o := orders{hold: true}
	if !c.over {
		c.suspended, o.tell = true, registry.Suspended
	}
	return o
}

// finish ends the session. lost says that the service did it; otherwise the
// owner hears of the end when the client library has stopped.
func (c *connection) finish(lost bool) orders {
	o := orders{end: !c.over}
	c.over = true
	if lost {
		o.tell = c.tellEnd()
	}
	return o
}

// stopped says that the client library has stopped, after the end.
func (c *connection) stopped() orders { return orders{tell: c.tellEnd()} }

func (c *connection) tellEnd() registry.EventKind {
	if c.ended {
		return 0
	}
	c.ended = true
	return registry.Ended
}

// ask says that a call begins that wants to follow a path.
func (c *connection) ask(path string) {
	if !slices.Contains(c.follows, path) {
		c.follows = append(slices.Clone(c.follows), path)
	}
}

// refused says that the path of such a call is not followed.
func (c *connection) refused(path string) {
	c.follows = slices.DeleteFunc(slices.Clone(c.follows), func(p string) bool { return p == path })
}
