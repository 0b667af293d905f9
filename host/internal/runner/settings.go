package runner

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// effective is the job's configuration in force: the server's own, with the values of
// the registry over it.
type effective struct {
	definition protocol.Definition // of the registry, from which it was made
	job        *job.Config         // never changed
	params     map[int]string      // nil before the first run; the loop's
}

// configure makes the definition that the view shows the one in force, and reports
// whether it is a new one. A text that cannot be read changes nothing here; the core
// reports it and begins nothing.
func (m *member) configure() bool {
	v, old := m.loop.View(), m.effective
	if v.ConfigFault != "" {
		return false
	}
	if v.Config == nil || m.Define == nil && !v.Dirs.Module {
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
	m.guests.fire = fire{}
	m.applySettings(old.job)
	m.Changed(e.job)
	return true
}

// params returns the parameters of the items. If they cannot be read, the view has no
// configuration, so nothing runs by them.
func (m *member) params() map[int]string {
	e := m.effective
	if e.params == nil {
		e.params, _ = job.ParseItemParams(e.job.ItemParams)
	}
	return e.params
}

// intern returns the server's own configuration if c equals it. That saves memory,
// since most do, and a server may have thousands of jobs.
func (r *Runner) intern(c job.Config) *job.Config {
	if reflect.DeepEqual(c, *r.file) {
		return r.file
	}
	return &c
}

// applySettings applies changed settings that are not looked up at each use.
func (m *member) applySettings(old *job.Config) {
	c := m.effective.job
	if c.Parallel != old.Parallel {
		m.places = nil // the next guest makes new ones; guests that run give theirs back to the old ones
	}
	m.sendSettings()
	if c.TimeZone != old.TimeZone || c.Dialect != old.Dialect {
		m.Clock.Use(*c)
		if m.cron != "" {
			m.reschedule(m.cron)
		}
	}
}

// sendSettings passes the settings to the core if they have changed.
func (m *member) sendSettings() {
	in := m.coreSettings(m.effective.job)
	in.Barred = m.isBarred()
	if m.sent.newSettings(in) {
		m.inbox.fence.setFinish(in.Finish)
		m.step(in)
	}
}

// readsCron reports whether a cron can be read.
func (r *Runner) readsCron(cron string) bool {
	_, _, _, err := r.Clock.Between(cron, 0, 1)
	return err == nil
}

// coreSettings returns the settings of a job that the core needs.
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

// catchUp returns how many of the instants that an item missed begin late.
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

// defineAsk is the id of the runner's own ask. The ids of callers are positive.
const defineAsk = -1

// defining is how far the server's own file has come into the registry. It is brought
// there once each time it is read: later changes of the registry are wanted.
type defining struct {
	done     bool
	fresh    bool // the registry has a definition that was not compared with the file yet
	asked    bool // the answer is awaited
	again    bool // the file was read again meanwhile
	tries    int
	fault    string
	disputed []definition.Dispute // as reported last
	said     []byte               // what Defined receives when it is done
}

const defineTries = 5

// defineAnswered handles the answer to the ask of define.
func (m *member) defineAnswered(fault string) {
	o := &m.defining
	o.asked, o.fault = false, fault
	o.done = fault == "" || o.tries >= defineTries
	if o.done && fault != "" {
		m.defineFailed(fmt.Errorf("given up after %d tries: %s; have the file read again", o.tries, fault))
	}
	if fault == "" && m.Defined != nil {
		m.Defined(o.said)
	}
	o.said = nil // it is large
	if o.again {
		m.inbox.put(redefineMessage{})
	}
	m.joinUnlessDefining()
}

// define brings the server's own file into the registry by the rule of
// definition.Merge, and reports the keys in which the two go on to differ.
func (m *member) define() {
	o := &m.defining
	v := m.loop.View()
	if m.Define == nil || o.asked || m.exit.due || m.self == "" || m.admitted.Barred() || v.Config == nil || v.ConfigFault != "" {
		return
	}
	o.fresh = false
	m.report.enabled(m.file, v, m.self)
	config, module := m.Layout.Defined(v)
	if config == nil {
		return
	}
	merged, err := definition.Merge(m.Define(*m.file), config, module)
	if err != nil {
		m.defineFailed(err)
		return
	}
	m.reportDisputes(merged.Disputed)
	if o.done {
		return
	}
	ask := protocol.AskDefine{Have: v.ConfigVersion, HaveModule: protocol.NoModule}
	if module != nil {
		ask.HaveModule = v.ModuleVersion
	}
	if ask.Definition, err = m.Layout.Spell(v.Definition, merged.Definition); err != nil {
		m.defineFailed(err)
		return
	}
	o.said = merged.Said()
	if ask.Same(v.Definition) {
		m.defineAnswered("")
		return
	}
	if o.tries++; o.tries > 1 {
		m.Log.Warn("the registry did not take this server's configuration of the job; it is retried", "cause", o.fault)
	} else if len(merged.Changed) > 0 {
		m.Log.Info("this server's configuration of the job goes into the registry", "changes", merged.Changed)
	}
	o.asked = true
	m.step(protocol.Asked{ID: defineAsk, Ask: ask})
}

// defineFailed reports a file that cannot be brought into the registry.
func (m *member) defineFailed(err error) {
	m.defining.done = true
	m.Log.Error("this server's configuration of the job cannot be brought into the registry", "error", err)
	m.troubles.set(troubleDefinition, err.Error())
}

// reportDisputes reports the keys that the registry and this server's file have changed
// to different values.
func (m *member) reportDisputes(keys []definition.Dispute) {
	if slices.Equal(keys, m.defining.disputed) {
		return
	}
	if m.defining.disputed = keys; len(keys) == 0 {
		m.troubles.clear(troubleDefinition)
		m.Log.Info("the registry and this server's file agree on the job again")
		return
	}
	lines := make([]string, len(keys))
	for i, d := range keys {
		m.Log.Warn("the registry and this server's file differ in the job; the registry is followed until they agree, or the file says overwrite", "key", d.Key, "registry", d.Registry, "file", d.File, "because", d.Because())
		lines[i] = d.String() + "; the registry is followed until they agree, or the file says overwrite"
	}
	m.troubles.set(troubleDefinition, strings.Join(lines, "\n"))
}

// initial returns the definition that the server's own file gives a job that is not in
// the registry. It is empty if the file does not have the job, or if the job was
// removed: a running server must not bring it back.
func (l *generations) initial() (protocol.Definition, error) {
	r := l.Runner
	if r.Define == nil || l.removed {
		return protocol.Definition{}, nil
	}
	first, err := definition.Merge(r.Define(*r.file), nil, nil)
	if err != nil {
		return protocol.Definition{}, err
	}
	return r.Layout.Spell(protocol.Definition{}, first.Definition)
}
