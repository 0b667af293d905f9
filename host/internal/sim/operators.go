package sim

import (
	"fmt"
	"path"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// tool writes a mutation as an operator's tool does, without being a member.
func (w *World) tool(m protocol.Mutation) {
	w.apply(nil, w.job.Encode(m, w.ledger.v), origin{what: "tool " + describe(m)})
}

// operate is an operator who writes with a tool of ElasticJob.
func (w *World) operate() {
	v := w.ledger.v
	if v == nil || v.Config == nil || !v.Parents.Assignment {
		return
	}
	kinds := 14
	if len(w.jvms) > 0 {
		kinds = 10 // the other kinds would stop members of ElasticJob
	}
	switch w.rng.IntN(kinds) {
	case 0:
		w.tool(protocol.SetPaused{Paused: !v.Paused})
	case 1:
		if i := w.rng.IntN(v.Config.Total); i < len(v.Items) && v.Items[i].Exists {
			w.tool(protocol.DisableItem{Item: i, Disabled: !v.Items[i].Disabled})
		}
	case 2:
		if len(v.Servers) > 0 {
			s := v.Servers[w.rng.IntN(len(v.Servers))]
			if w.profile.byAddress() && !s.Disabled && w.chance(0.5) {
				w.pauseServer(s.IP)
				return
			}
			w.tool(protocol.DisableServer{IP: s.IP, Disabled: !s.Disabled})
		}
	case 3, 4:
		if !v.Necessary {
			w.tool(protocol.MarkReshard{})
		}
	case 5, 6:
		for _, in := range v.Instances {
			if w.chance(0.7) {
				w.tool(protocol.RequestTrigger{To: []protocol.ID{in.ID}})
			}
		}
	case 7:
		w.removeSomething(v)
	case 8:
		w.tool(protocol.PutConfig{Config: spelling.Text(w.newConfig())})
	case 9:
		w.scribble()
	case 10:
		if w.chance(0.3) {
			w.visit()
		}
	case 11:
		w.squat(v)
	case 12:
		w.damage(v)
	case 13:
		w.strayMark(v)
	}
}

// squat creates an unknown node below an item. If the total shrinks then, the item's own
// node cannot be removed.
func (w *World) squat(v *protocol.View) {
	i := len(v.Items) - 1
	if i < 0 || len(w.squatted) == 2 || slices.Contains(w.squatted, i) || !v.Items[i].Exists {
		return
	}
	mark := w.job.Encode(protocol.DisableItem{Item: i, Disabled: true}, v)[0].Path
	theirs := path.Join(path.Dir(mark), "theirs")
	w.squatted = append(w.squatted, i)
	w.ledger.unknown = append(w.ledger.unknown, theirs)
	w.apply(nil, []registry.Op{{Kind: registry.Create, Path: theirs, Data: []byte("theirs")}}, origin{what: "somebody else below an item"})
}

// removeSomething deletes a server's node, which members create again, or an instance,
// which ends its member.
func (w *World) removeSomething(v *protocol.View) {
	switch {
	case w.chance(0.5):
		if len(v.Servers) > 0 {
			w.tool(protocol.PruneServers{IPs: []string{v.Servers[w.rng.IntN(len(v.Servers))].IP}})
		}
	case len(v.Instances) > 1:
		in := v.Instances[w.rng.IntN(len(v.Instances))]
		w.apply(nil, []registry.Op{{Kind: registry.Delete, Path: w.job.Instance(in.ID), Version: registry.AnyVersion}}, origin{what: "tool removes instance " + string(in.ID)})
	}
}

// pauseServer pauses one server alone, as a console of layouts 2.0 and 1 does.
func (w *World) pauseServer(ip string) {
	pause := registry.Op{Kind: registry.Create, Path: path.Join(w.job.Root(), "servers", ip, "paused")}
	w.apply(nil, []registry.Op{pause}, origin{what: "console pauses server " + ip})
}

// scribble writes random owners into ElasticJob's nodes, as a foreign leader would, and
// leaves the assignment as it is.
func (w *World) scribble() {
	v := w.ledger.v
	if len(v.Instances) == 0 || len(v.Assignment.Owners) == 0 || v.Assignment.Total != len(v.Items) {
		return
	}
	next := v.Assignment
	next.Owners = slices.Clone(next.Owners)
	for i := range next.Owners {
		next.Owners[i] = v.Instances[w.rng.IntN(len(v.Instances))].ID
	}
	var ops []registry.Op
	for _, op := range w.job.Encode(protocol.Reshard{Next: next}, v) {
		if op.Kind == registry.Set && slices.Contains(next.Owners, protocol.ID(op.Data)) {
			ops = append(ops, op)
		}
	}
	w.apply(nil, ops, origin{what: "somebody else writes owners"})
	w.scribbled = append(w.scribbled, w.tree.Revision())
}

// foreign creates or deletes the registration of a foreign member.
func (w *World) foreign(there bool) {
	op := registry.Op{Kind: registry.CreateEphemeral, Path: w.job.Instance(visitor)}
	if !there {
		op = registry.Op{Kind: registry.Delete, Path: op.Path, Version: registry.AnyVersion}
	}
	_, changes, err := w.tree.Commit(foreignSession, w.now/millisecond, []registry.Op{op})
	if err != nil {
		return
	}
	w.tracef("server: %d a member that is not ours registers: %v", w.tree.Revision(), there)
	w.record(changes, origin{what: "foreign member"})
}

// ask passes an operator's request to a member.
func (w *World) ask(m *member) {
	v := w.ledger.v
	if v == nil || v.Config == nil || m.st == nil {
		return
	}
	var a protocol.Ask
	switch w.rng.IntN(8) {
	case 0:
		a = protocol.AskTrigger{}
	case 1:
		a = protocol.AskPause{Paused: !v.Paused}
	case 2:
		a = protocol.AskItem{Item: w.rng.IntN(v.Config.Total), Disabled: w.chance(0.5)}
	case 3:
		a = protocol.AskServer{IP: m.ip, Disabled: w.chance(0.5)}
	case 4:
		have := w.ledger.older(v.ConfigVersion, w.rng.IntN(2))
		if a = (protocol.AskConfig{Config: spelling.Text(w.newConfig()), Have: have}); w.chance(0.5) {
			a = w.definition(v, have)
		}
	case 5:
		a = protocol.AskReshard{}
	case 6:
		a = protocol.AskTrigger{}
	case 7:
		w.retire(m)
		a = protocol.AskLeave{}
	}
	w.request(m, a)
}

// definitionText is the text of a module's node: its number, the versions of
// configuration and module that it was derived from, and the next module.
const definitionText = `{"v":1,"kind":"%d from %s and %s"%s}`

// replaced records, by version of each part, the version that it replaced.
func (l *ledger) replaced(old *protocol.View) {
	if is, was := l.v.ConfigVersion, old.ConfigVersion; is != was && old.Config != nil {
		l.before[is] = was
	}
	if is, was := l.v.ModuleVersion, old.ModuleVersion; is != was && old.HasModule {
		l.before[is] = was
	}
}

// older returns the version that v replaced if writes is 1 and that is known, else v
// itself. An operator who has read the former version asks for a change of what is no
// longer there.
func (l *ledger) older(v protocol.Version, writes int) protocol.Version {
	if before, known := l.before[v]; known && writes > 0 {
		return before
	}
	return v
}

// definition changes the module's node, and mostly the configuration. The text names the
// version that it was derived from.
func (w *World) definition(v *protocol.View, have protocol.Version) protocol.AskDefine {
	a := protocol.AskDefine{Definition: protocol.Definition{Config: v.Definition.Config}, Have: have, HaveModule: protocol.NoModule}
	if v.HasModule {
		a.HaveModule = w.ledger.older(v.ModuleVersion, w.rng.IntN(2))
	}
	if w.chance(0.7) {
		a.Config = spelling.Text(w.newConfig())
	}
	next := ""
	if w.chance(0.7) {
		next = fmt.Sprintf(`,"next":{"name":"m","digest":"%064x"}`, w.asks)
	}
	a.Module = spelling.Text(fmt.Appendf(nil, definitionText, w.asks, a.Have, a.HaveModule, next))
	return a
}

// request passes an operator's request to the member, which must answer unless it is
// asked to leave. It remembers from which version a configuration was made.
func (w *World) request(m *member, a protocol.Ask) {
	w.asks++
	id := w.asks
	w.tracef("%s: asked %d %s", m.name(), id, describeAsk(a))
	if c, ok := a.(protocol.AskConfig); ok {
		w.ledger.derived[written(c.Config)] = c.Have
	}
	m.guard(m.life, func() {
		if _, ok := a.(protocol.AskLeave); ok {
			m.leaving = true
		} else {
			m.asked[id] = true
		}
		m.step(protocol.Asked{ID: id, Ask: a})
	})
}
