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

// GrantLimits are the most that a server grants to any job. The zero value grants
// nothing. A job asks; asking for more is an error, not a smaller grant.
type GrantLimits struct {
	Dirs    []Tree
	Env     []string // names of variables
	Clock   string   // "" or "fixed": no real time; "real": it may be granted
	Random  bool
	State   bool
	Secrets []string // names
	HTTP    []string // as in job.Allow
	// PrivateHosts are names, or patterns "*.name", that HTTP may reach although
	// they lead to this machine or into a private network.
	PrivateHosts []string
}

// Tree is a directory of the server with all that is below it.
type Tree struct {
	Path  string // absolute
	Write bool   // may be granted for writing, too
}

// GrantViolation is one thing that a job asks for and the limits do not give.
type GrantViolation struct {
	Key   string // of the table of grants
	Place int    // in the list of that key, from 1; 0: that is no list
	Name  string // in the table of that key; "": that is none
	Why   reason.Reason
}

// Error is one line: what is wrong and what to write.
func (e *GrantViolation) Error() string { return e.Why.WithHint() }

// Violations are what a job asks for beyond the limits, and what of it meets what is
// private to the server.
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

// grantsOf reads grants. One that is wrong, which others tell, stays in its
// place and grants nothing.
func grantsOf(texts []string) []outbound.Grant {
	grants := make([]outbound.Grant, len(texts))
	for i, text := range texts {
		if g, err := outbound.Parse(text); err == nil {
			grants[i] = g
		}
	}
	return grants
}

// covers reports whether the directory is one of the limits' directories or
// below one. Links are not followed here; the sandbox opens the directory from
// that of the limits, and follows none.
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
