package sim

import (
	"bytes"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// What only some jobs have whose members are of 3.0.4: listeners that are called once for all, a
// bound for the difference of clocks, and an operator who switches staticSharding on for a while.

// features are those of a job.
type features struct {
	roundWait int64 // how long its members wait for one another in a round; 0: they have no listener
	static    bool  // staticSharding is true
	switches  bool  // an operator switches it
	missets   bool  // clocks are set to times that the job does not allow
}

// wrong reports whether the member's clock was set so shortly before that it may not know how long
// it has waited.
func (w *World) wrong(m *member) bool { return w.missets && w.now-m.set < 10*second }

// drawFeatures draws which of these the job has.
func (w *World) drawFeatures() {
	if w.chance(0.125) {
		w.roundWait = w.between(second, 4*second)
		w.options.Started, w.options.Completed = w.chance(0.5), w.chance(0.5)
	}
	if w.chance(0.125) {
		w.config.MaxTimeDiffSeconds = int32(w.between(0, 3))
	}
	w.switches = w.chance(0.125)
	w.define()
}

const (
	staticOff = "staticSharding: false"
	staticOn  = "staticSharding: true"
)

// staticText reports whether staticSharding is on in a configuration.
func staticText(config string) bool { return strings.Contains(config, staticOn) }

// spellStatic switches staticSharding on in a configuration's text if it is on now. A
// job of ours has no setting for it.
func (w *World) spellStatic(text []byte) []byte {
	if w.static {
		return bytes.Replace(text, []byte(staticOff), []byte(staticOn), 1)
	}
	return text
}

// fileOf is the job in the file of a member of ours, by which its server is admitted.
func (w *World) fileOf(number int) *job.Config {
	return &job.Config{Name: jobName, Layout: w.profile.layout, Kind: job.Simple, Class: w.config.JobClass, TimeZone: "UTC", Shards: number}
}

// nextSwitch lets the operator switch staticSharding until the calm.
func (w *World) nextSwitch() {
	w.after(w.extra.between(second, 9*second), func() {
		if !w.calm {
			w.putStatic(!w.static)
			w.nextSwitch()
		}
	})
}

// putStatic has the operator switch staticSharding in the registry. If there is no
// configuration yet, the first one will have it.
func (w *World) putStatic(on bool) {
	w.static = on
	if w.ledger.v != nil && w.ledger.v.Config != nil {
		w.putConfig()
	}
}

// putConfig writes the configuration by a tool, as ElasticJob's console does where no server of ours
// has been yet.
func (w *World) putConfig() {
	if w.ledger.v.Parents.Assignment || !w.three {
		w.tool(protocol.PutConfig{Config: spelling.Text(w.encoded())})
		return
	}
	config, _ := w.spelled(w.encoded())
	w.apply(nil, []registry.Op{{Kind: registry.Set, Path: w.nodes.config, Data: []byte(config), Version: registry.AnyVersion}}, origin{what: "a console writes the configuration"})
}

// nextWrongClock sets the clock of a member of ours to a time that the job does not allow, for a
// while. Members learn of it at once.
func (w *World) nextWrongClock() {
	w.after(w.extra.between(second, 8*second), func() {
		up := w.up()
		switch {
		case w.calm:
			return
		case len(up) > 0:
			off := spelling.MaxSkew(w.config.MaxTimeDiffSeconds) + w.extra.between(100, mostMisset)
			if w.extra.chance(0.5) {
				off = -off
			}
			w.misset(up[w.extra.IntN(len(up))], off)
		}
		w.nextWrongClock()
	})
}

// mostOff is by how many ms the times that a member writes differ at most from the registry's.
func (w *World) mostOff() int64 {
	if !w.missets {
		return w.profile.skew
	}
	return 2 * (spelling.MaxSkew(w.config.MaxTimeDiffSeconds) + mostMisset) // from one wrong time to another
}

// mostMisset is by how many ms more than the job allows a clock is set wrong at most.
const mostMisset = 3000

// misset sets the clock of a member wrong by offset ms for a few seconds, unless it is
// set again before.
func (w *World) misset(m *member, offset int64) {
	w.showClock(m, offset)
	w.after(w.extra.between(second, 6*second), func() {
		if m.offset == offset {
			w.showClock(m, 0)
		}
	})
}

// showClock sets the clock of a member, which notices at once. Which instant came before
// the next one, it does not know then.
func (w *World) showClock(m *member, offset int64) {
	w.setClock(m, offset)
	m.prev = 0
	m.guard(m.life, m.look)
}
