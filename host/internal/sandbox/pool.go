package sandbox

import (
	"maps"
	"slices"

	"github.com/wasmjob/wasmjob/host/job"
)

// The pool of a job keeps instances that ended a run without a fault. They have run
// only this job with one set of grants; when the grants or the memory limit change,
// idle instances are destroyed. A pool belongs to the compilation and ends with its
// last user. It is emptied when memory is short.

// takeIdle takes an idle instance from the pool of the run's job, or returns nil. It
// destroys instances that were created for other grants or limits, because the job's
// configuration has changed.
func (c *compilation) takeIdle(r *run) *instance {
	if !r.pooled() {
		return nil
	}
	name, e := r.facts.call.Config.Name, c.engine
	var old []*instance
	e.mu.Lock()
	var in *instance
	for idle := c.pools[name]; len(idle) > 0 && in == nil; {
		last := idle[len(idle)-1]
		idle = idle[:len(idle)-1]
		c.pools[name] = idle
		if last.matches(r) {
			in = last
		} else {
			old = append(old, last)
		}
	}
	e.mu.Unlock()
	if in != nil && !e.budget.tryTakeMemory(r, r.overheadBytes()) {
		old, in = append(old, in), nil // it would keep its memory while the run waits
	}
	for _, o := range old {
		o.destroy()
	}
	if in != nil {
		in.stackBytes = r.overheadBytes()
	}
	return in
}

// keepIdle puts an instance into the pool of its job, unless it is unfit or the pool
// is full.
func (c *compilation) keepIdle(r *run, in *instance) bool {
	pool := r.facts.call.Config.Limits.Pool
	e := c.engine
	if !in.reusable || !r.pooled() || in.uses >= orDefault(pool.MaxUses, DefaultUses) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name := r.facts.call.Config.Name
	// Checked under the lock, so that a new claim finds the idle instance.
	if e.budget.hasClaims() || e.closed || len(c.pools[name]) >= pool.Size {
		return false
	}
	if c.pools == nil {
		c.pools = map[string][]*instance{}
	}
	c.pools[name] = append(c.pools[name], in)
	return true
}

// pooled reports whether the run may use pooled instances. Events occur once per
// fire and gain nothing; a command ends its own instance; a strategy must not have
// memory.
func (r *run) pooled() bool {
	c := r.facts.call
	return c.Config.Limits.Pool.Size > 0 && c.Event == "" && !r.script && r.assignment == nil
}

// matches reports whether an instance was created with the run's grants and limits.
func (in *instance) matches(r *run) bool {
	return in.mem.limit == r.memoryLimit() && in.files == r.openFiles() && sameGrants(&in.allow, &r.facts.call.Config.Allow)
}

// sameGrants compares two grants. It runs before every run, so it uses no reflection.
func sameGrants(a, b *job.Allow) bool {
	return a.Clock == b.Clock && a.Random == b.Random && a.State == b.State &&
		slices.Equal(a.Dirs, b.Dirs) && maps.Equal(a.Env, b.Env) &&
		slices.Equal(a.Secrets, b.Secrets) && slices.Equal(a.HTTP, b.HTTP)
}

// takeAllIdle empties the pools of a compilation. The caller holds e.mu, and
// destroys the instances after releasing it.
func (c *compilation) takeAllIdle() []*instance {
	var all []*instance
	for _, idle := range c.pools {
		all = append(all, idle...)
	}
	clear(c.pools)
	return all
}

// evict destroys all idle instances, and frees unused stacks, when memory is short.
func (e *Engine) evict() {
	e.stacks.evict()
	var all []*instance
	e.mu.Lock()
	for _, c := range e.modules {
		all = append(all, c.takeAllIdle()...)
	}
	e.mu.Unlock()
	for _, in := range all {
		in.destroy()
	}
}
