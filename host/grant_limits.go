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

// GrantLimits limit what a server grants to a job. The zero value grants nothing. A job
// that asks for more is an error; it does not get less than it asks for.
type GrantLimits struct {
	Dirs    []Tree
	Env     []string // names of variables
	Clock   string   // "" or "fixed": no real time; "real": real time may be granted
	Random  bool
	State   bool
	Secrets []string // names
	HTTP    []string // as in job.Allow
	// PrivateHosts are names, or patterns "*.name", of this machine or of a private
	// network that HTTP may reach all the same.
	PrivateHosts []string
}

// Gives reports whether a job may be granted anything under a key of its table.
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
	Write bool   // may be granted for writing, too
}

// GrantViolation is a grant that a job asks for and the limits do not allow.
type GrantViolation struct {
	Key   string // key in the job's table of grants
	Place int    // place in the list of that key, from 1; 0: the value is no list
	Name  string // name in the table of that key; "": the value is no table
	Why   reason.Reason
}

// Error returns one line: what is wrong and how to fix it.
func (e *GrantViolation) Error() string { return e.Why.WithHint() }

// Violations returns the grants of a job that exceed the limits, and directories that
// contain, or lie in, a private directory of the server.
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

// grantsOf parses grants. An invalid one, which is reported elsewhere, keeps its place
// and grants nothing.
func grantsOf(texts []string) []outbound.Grant {
	grants := make([]outbound.Grant, len(texts))
	for i, text := range texts {
		if g, err := outbound.Parse(text); err == nil {
			grants[i] = g
		}
	}
	return grants
}

// covers reports whether the directory is one of the limits' directories or below one. It
// does not follow links; the sandbox opens the directory relative to that of the limits
// and follows none, either.
func (c *GrantLimits) covers(d job.Dir) bool {
	return filepath.IsAbs(d.Host) && slices.ContainsFunc(c.Dirs, func(top Tree) bool {
		return (top.Write || !d.Write) && below(top.Path, d.Host)
	})
}

// below reports whether dir is top or lies below it.
func below(top, dir string) bool {
	rel, err := filepath.Rel(top, dir)
	return err == nil && filepath.IsLocal(rel)
}
