package runner

import (
	"reflect"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// effective is the job's configuration in force: the server's own, overridden by the
// values of the registry.
type effective struct {
	definition protocol.Definition // the registry's, from which job was made
	job        *job.Config         // never changed
	params     map[int]string      // nil before the first run; used only by the loop
}

// configure puts the definition in the view into force, and reports whether it is new. A
// definition that cannot be read changes nothing here; the core reports it and begins
// nothing.
func (m *member) configure() bool {
	v, old := m.loop.View(), m.effective
	if v.ConfigFault != "" {
		return false
	}
	if v.Config == nil || m.Define == nil && !v.HasModule { // there is no job that this server could run
		m.Changed(nil)
		return false
	}
	if old.definition.Config != nil && v.Definition.Same(old.definition) {
		return false
	}
	config, module := m.Layout.Defined(v)
	if config == nil {
		return false
	}
	e := effective{definition: v.Definition}
	if module == nil {
		e.job = m.intern(config.Apply(*m.file))
	} else {
		d := definition.Definition{Config: config, Module: *module}
		e.job = m.intern(d.Job(*m.file))
	}
	m.effective = &e
	m.guests.fire = fire{} // its parameters are of the old configuration
	m.applySettings(old.job)
	m.followBefore()
	m.Changed(e.job)
	return true
}

// params returns the parameters of the items. If they cannot be read, the view has no
// configuration, so no run begins.
func (m *member) params() map[int]string {
	e := m.effective
	if e.params == nil {
		e.params, _ = job.ParseItemParams(e.job.ItemParams)
	}
	return e.params
}

// intern returns the server's own configuration if c equals it, as most do. That saves
// memory on a server with thousands of jobs.
func (r *Runner) intern(c job.Config) *job.Config {
	if reflect.DeepEqual(c, *r.file) {
		return r.file
	}
	return &c
}

// applySettings applies those settings that differ from the configuration before, old, and
// are not looked up at each use.
func (m *member) applySettings(old *job.Config) {
	c := m.effective.job
	if c.Parallel != old.Parallel {
		m.places = nil // the next guest makes new ones; running guests give theirs back to the old ones
	}
	m.sendSettings()
	if c.TimeZone != old.TimeZone || c.Dialect != old.Dialect || c.Jitter != old.Jitter || !slices.Equal(c.Except, old.Except) {
		m.Clock.Use(*c)
		if m.cron != "" {
			m.reschedule(m.cron)
		}
	}
}

// sendSettings passes the settings that the core needs to it, if they have changed.
func (m *member) sendSettings() {
	in := m.coreSettings(m.effective.job)
	in.Barred = m.isBarred()
	if m.sent.newSettings(in) {
		m.inbox.fence.setFinish(in.Finish)
		m.step(in)
	}
}

// readsCron reports whether a cron can be read. The bounds leave room for no instant, so
// nothing is searched.
func (r *Runner) readsCron(cron string) bool {
	_, _, _, err := r.Clock.Between(cron, 0, 1)
	return err == nil
}

// coreSettings returns the job's settings that the core needs. The slots of a job are never
// more than the server's workers.
func (r *Runner) coreSettings(c *job.Config) protocol.Configured {
	slots := c.Parallel
	if all := r.Workers.Size(); slots == 0 || all > 0 && all < slots {
		slots = all
	}
	var started, completed bool
	if l, ok := r.Guests.(Listener); ok {
		started, completed = l.Listens()
	}
	return protocol.Configured{
		Started: started, Completed: completed, Zoneless: c.TimeZone == "",
		Slots: slots, Queue: c.Overlap == job.QueueOne, Replace: c.Overlap == job.Replace,
		Finish:  c.OnRegistryLoss == job.FinishOnLoss,
		CatchUp: catchUp(c.CatchUp),
		Retry:   protocol.RetryPolicy{Attempts: c.Retry.Attempts, Backoff: c.Retry.Backoff.Milliseconds(), MaxBackoff: c.Retry.MaxBackoff.Milliseconds(), OnlyAsked: c.Retry.OnlyAsked},
	}
}

// catchUp returns how many of an item's missed instants begin late.
func catchUp(c job.CatchUp) int {
	switch c {
	case job.CatchUpLast:
		return 1
	case job.CatchUpAll:
		return job.MaxCatchUp
	case job.CatchUpNone:
	}
	return 0
}
