package zk

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/registry"
)

// connection is the state of a session's connection and of the paths followed on it. Each
// method takes an event and returns what the session has to do. It has no goroutine, lock,
// channel or clock, so a test can try every order of events.
//
// The service forgets the followed paths when the connection is lost. So a new connection is
// restoring until it follows the same paths, and only then up. Requests wait until it is up.
type connection struct {
	phase     phase
	number    int      // of the newest connection; 0: there was none
	follows   []follow // replaced, not modified
	suspended bool     // the owner has received Suspended, and no Resumed since
	over      bool     // the session has ended, or is about to
	ended     bool     // the owner has received Ended
}

type phase uint8

const (
	down phase = iota
	restoring
	up
)

// follow is a path that is followed, or that a call asks to follow.
type follow struct {
	path  string
	asked int  // calls in progress
	held  bool // a call has returned without an error
}

// orders are what a session has to do after an event of its connection.
type orders struct {
	end     bool               // prevent new connections, and end all waits
	hold    bool               // make requests wait from now on
	emit    registry.EventKind // event for the owner; 0: none
	release bool               // release the waiting requests
	restore []string           // follow these paths, then call restored
	hangUp  bool               // close the connection of the event
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
	// These include paths of calls in progress, which may have been followed on the previous
	// connection without the call knowing yet.
	return orders{restore: c.paths()}
}

// restored says that all paths of the restore order of connection number are followed, or that
// this failed. It may come when that connection is already lost; the next one has a restore of
// its own.
func (c *connection) restored(number int, ok bool) orders {
	if c.over || c.phase != restoring || c.number != number {
		return orders{}
	}
	if !ok {
		return orders{hangUp: true} // otherwise the owner would miss changes
	}
	return c.ready()
}

// ready says that requests may use the connection.
func (c *connection) ready() orders {
	c.phase = up
	o := orders{release: true}
	if c.suspended {
		c.suspended, o.emit = false, registry.Resumed
	}
	return o
}

// disconnected says that the connection is lost, or that an attempt to connect failed.
func (c *connection) disconnected() orders {
	was := c.phase
	c.phase = down
	if was != up {
		return orders{} // requests wait already
	}
	o := orders{hold: true}
	if !c.over {
		c.suspended, o.emit = true, registry.Suspended
	}
	return o
}

// finish ends the session. If the service ended it (lost), the owner receives Ended at once,
// otherwise when the client library has stopped.
func (c *connection) finish(lost bool) orders {
	o := orders{end: !c.over}
	c.over = true
	if lost {
		o.emit = c.emitEnd()
	}
	return o
}

// stopped says that the client library has stopped, after the end.
func (c *connection) stopped() orders { return orders{emit: c.emitEnd()} }

// emitEnd returns Ended, which the owner receives once; 0 after that.
func (c *connection) emitEnd() registry.EventKind {
	if c.ended {
		return 0
	}
	c.ended = true
	return registry.Ended
}

// ask says that a call to follow a path begins.
func (c *connection) ask(path string) {
	c.change(path, func(f *follow) { f.asked++ })
}

// answered says that a call to follow a path returns, without an error if ok. A path that
// another call follows stays followed.
func (c *connection) answered(path string, ok bool) {
	c.change(path, func(f *follow) { f.asked, f.held = f.asked-1, f.held || ok })
}

// change changes what is known of a path. A path that nobody asks for or holds is followed no
// longer.
func (c *connection) change(path string, do func(*follow)) {
	all := slices.Clone(c.follows)
	i := slices.IndexFunc(all, func(f follow) bool { return f.path == path })
	if i < 0 {
		i, all = len(all), append(all, follow{path: path})
	}
	if do(&all[i]); all[i].asked == 0 && !all[i].held {
		all = slices.Delete(all, i, i+1)
	}
	c.follows = all
}

// paths returns all paths to be followed.
func (c *connection) paths() []string {
	paths := make([]string, len(c.follows))
	for i, f := range c.follows {
		paths[i] = f.path
	}
	return paths
}
