package host

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/outbound"
	"github.com/wasmjob/wasmjob/host/internal/reach"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// GrantLimits limit the grants of a server's jobs. The zero value allows none. A job that asks
// for more is an error; its grants are not reduced.
type GrantLimits struct {
	Dirs    []Tree
	Env     []string // names of variables
	Clock   string   // "" or "fixed": no real time; "real": real time may be granted
	Random  bool
	State   bool
	Secrets []string // names
	HTTP    []string // in the format of job.Allow
	// PrivateHosts are names, or patterns "*.name", of hosts on this machine or in a private
	// network that HTTP may reach anyway.
	PrivateHosts []string
}

// Gives reports whether a job may be granted anything under a key of its table, such as "dirs".
func (c *GrantLimits) Gives(key string) bool {
	a := job.Allow{Clock: c.Clock, Random: c.Random, State: c.State, Secrets: c.Secrets, HTTP: c.HTTP}
	if key == "dirs" || key == "env" {
		return key == "dirs" && len(c.Dirs) > 0 || key == "env" && len(c.Env) > 0
	}
	return a.Gives(key)
}

// Tree is a directory of the server with everything below it.
type Tree struct {
	Path  string // absolute
	Write bool   // may also be granted for writing
}

// GrantViolation is a grant that a job asks for beyond the limits.
type GrantViolation struct {
	Key   string // in the job's table of grants
	Place int    // in the list under that key, from 1; 0 if the value is no list
	Name  string // in the table under that key; "" if the value is no table
	Why   reason.Reason
}

// Error returns the fault and its fix in one line.
func (e *GrantViolation) Error() string { return e.Why.WithHint() }

// Violations returns the grants of a job that exceed the limits, and granted directories that
// contain, or lie in, a private directory of the server. own are those private directories.
func (c *GrantLimits) Violations(a job.Allow, own []job.Private) []*GrantViolation {
	var all []*GrantViolation
	add := func(key string, place int, name string, why reason.Reason) {
		all = append(all, &GrantViolation{key, place, name, why})
	}
	for i, d := range a.Dirs {
		p := reach.Find(own, d)
		switch {
		case p != nil:
			add("dirs", i+1, "", reason.Of(reason.DirPrivate, reach.Verb(*p), p.What, p.Path))
		case c.covers(d):
		case d.Write:
			add("dirs", i+1, "", reason.Of(reason.WriteAboveLimit, d.Host, strconv.Quote("rw:"+d.Host)))
		default:
			add("dirs", i+1, "", reason.Of(reason.DirAboveLimit, d.Host, strconv.Quote("ro:"+d.Host)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		if !slices.Contains(c.Env, name) {
			add("env", 0, name, reason.Of(reason.EnvAboveLimit, name))
		}
	}
	if a.Clock == "real" && c.Clock != "real" {
		add("clock", 0, "", reason.Of(reason.ClockAboveLimit))
	}
	if a.Random && !c.Random {
		add("random", 0, "", reason.Of(reason.RandomAboveLimit))
	}
	if a.State && !c.State {
		add("state", 0, "", reason.Of(reason.StateAboveLimit))
	}
	for i, name := range a.Secrets {
		if !slices.Contains(c.Secrets, name) {
			add("secrets", i+1, "", reason.Of(reason.SecretAboveLimit, strconv.Quote(name)))
		}
	}
	most := grantsOf(c.HTTP)
	for i, g := range grantsOf(a.HTTP) {
		if !g.Within(most) {
			add("http", i+1, "", reason.Of(reason.HTTPAboveLimit, g.String()))
		}
	}
	return all
}

// grantsOf parses grants. An invalid grant, which is reported elsewhere, keeps its index and
// grants nothing.
func grantsOf(texts []string) []outbound.Grant {
	grants := make([]outbound.Grant, len(texts))
	for i, text := range texts {
		if g, err := outbound.Parse(text); err == nil {
			grants[i] = g
		}
	}
	return grants
}

// covers reports whether the directory is one of the limits' directories, or is below one. It
// does not follow links, and neither does the sandbox, which opens the directory relative to
// the limits' directory.
func (c *GrantLimits) covers(d job.Dir) bool {
	return filepath.IsAbs(d.Host) && slices.ContainsFunc(c.Dirs, func(top Tree) bool {
		return (top.Write || !d.Write) && below(top.Path, d.Host)
	})
}

// below reports whether dir is top or lies below it: the path from top to dir is local if it
// does not begin with "..".
func below(top, dir string) bool {
	rel, err := filepath.Rel(top, dir)
	return err == nil && filepath.IsLocal(rel)
}
