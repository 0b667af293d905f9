package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Rules for a single transaction. They are checked against the change of the true tree;
// rules about what a member knows, against the view on which it decided.

// untouched checks that operators' settings and the configuration change only by
// transactions of operators.
func (l *ledger) untouched(old *protocol.View, by origin) {
	if by.member == nil {
		return
	}
	put, ok := by.m.(protocol.PutConfig) // an operator asked a member to write it
	if d, is := by.m.(protocol.Define); is {
		l.defined(d, old, by)
		return
	}
	if !alike(old.Definition.Module, l.v.Definition.Module) {
		l.switched(old, by)
	}
	switch {
	case ok && old.ConfigVersion != by.view.ConfigVersion:
		l.w.breach("no lost config", "%s replaces version %s of the configuration, having read %s", by, old.ConfigVersion, by.view.ConfigVersion)
	case ok && old.ConfigVersion != l.derived[written(put.Config)]:
		l.w.breach("no lost config", "%s replaces version %s of the configuration by one made from %s", by, old.ConfigVersion, l.derived[written(put.Config)])
	case ok && !alike(put.Config, l.v.Definition.Config):
		l.w.breach("no lost config", "%s wrote another configuration than it was given", by)
	case !ok && old.Config != nil && !alike(old.Definition.Config, l.v.Definition.Config):
		l.w.breach("no lost config", "%s changed the configuration", by)
	}
	if _, ok := by.m.(protocol.DisableServer); !ok {
		for _, s := range old.Servers {
			k := slices.IndexFunc(l.v.Servers, func(n protocol.Server) bool { return n.IP == s.IP })
			if s.Disabled && k < 0 || k >= 0 && l.v.Servers[k].Disabled != s.Disabled {
				l.w.breach("the operator's word", "%s changed what an operator said about the server %s", by, s.IP)
			}
		}
	}
	if _, ok := by.m.(protocol.SetPaused); !ok && (old.Paused != l.v.Paused || old.Pause != l.v.Pause) {
		l.w.breach("the operator's word", "%s paused or resumed", by)
	}
}

// defined checks that a definition replaces the versions that it was derived from, in both
// nodes or in neither.
func (l *ledger) defined(d protocol.Define, old *protocol.View, by origin) {
	was := protocol.NoModule
	if old.HasModule {
		was = old.ModuleVersion
	}
	from := fmt.Sprintf(" from %s and %s\"", old.ConfigVersion, was) // as in definitionText
	if text := written(l.v.Definition.Module); !strings.Contains(text, from) {
		l.w.breach("no torn definition", "%s replaces versions %s and %s by the module %q", by, old.ConfigVersion, was, text)
	}
	if d.Config != nil && !alike(l.v.Definition.Config, d.Config) || d.Config == nil && !alike(l.v.Definition.Config, old.Definition.Config) {
		l.w.breach("no torn definition", "%s wrote another configuration than it was given", by)
	}
}

// switched checks that the next module takes the place of the module only when every member
// has it.
func (l *ledger) switched(old *protocol.View, by origin) {
	if _, ok := by.m.(protocol.Setup); ok && !old.HasModule {
		return
	}
	if _, ok := by.m.(protocol.Switch); !ok || old.Next == "" || l.v.Next != "" || !strings.Contains(written(l.v.Definition.Module), old.Next) {
		l.w.breach("no module too early", "%s makes the module's node %s of %s", by, written(l.v.Definition.Module), written(old.Definition.Module))
		return
	}
	for _, m := range old.Members {
		if m.Ready.Digest != old.Next || m.Ready.Fault != "" {
			l.w.breach("no module too early", "%s, and %s has %+v", by, m.ID, m.Ready)
		}
	}
}

// decided checks a transaction by the rules of its kind.
func (l *ledger) decided(old *protocol.View, by origin) {
	if by.member == nil {
		return
	}
	l.readable(by)
	switch m := by.m.(type) {
	case protocol.ClearMarks:
		l.strays(old, by)
	case protocol.Join:
		// By its view: another member of that name may have come since, gone, and left items
		// to it. No process has that name any more, so any member may have them.
		if a := by.view.Assignment; slices.Contains(a.Owners, m.ID) || slices.Contains(a.Members, m.ID) {
			l.w.breach("a name of one's own", "%s joins as %s, which still has items", by, m.ID)
		}
	case protocol.Begin:
		l.begin(m, old, by)
	case protocol.Take:
		l.take(m, old, by)
	case protocol.NextAttempt:
		l.nextAttempt(m, by)
	case protocol.Reshard:
		l.reshard(m, old, by)
	case protocol.Owners:
		l.owners(m, by)
	case protocol.SetFires:
		l.startedIsTrue(m, by)
	case protocol.Reclaim:
		if slices.ContainsFunc(m.Pend, func(p protocol.Pending) bool { return p.After == 0 }) && !by.view.Config.Failover {
			l.w.breach("failover off", "%s", by)
		}
		for _, p := range m.Pend {
			l.pend(p, old, by)
		}
		l.wanted(m)
		l.strays(old, by)
		l.w.hold(m)
	case protocol.ReclaimForeign:
		l.strays(old, by)
	case protocol.Account:
		l.handsOn(m, by)
	case protocol.Leave:
		if registered(l.v, m.Self) != nil || alive(l.v, m.Self) || recordOf(l.v, m.Self) != nil {
			l.w.breach("leave", "%s left something of %s", by, m.Self)
		}
		l.leftNoOwners(m.Self, by)
		l.endsLead(old, by)
	case protocol.Complete:
		by.member.freed = l.w.now
		l.endsLead(old, by)
	default:
		l.endsLead(old, by)
	}
}

// begin checks that the member may begin what it begins, by what it knew.
func (l *ledger) begin(m protocol.Begin, old *protocol.View, by origin) {
	v := by.view
	if len(m.Begun) > 0 {
		l.fit(by)
	}
	// A foreign leader that had begun the instant assigns items only at the next one.
	late := v.Leader != "" && !alive(v, v.Leader) && !v.Processing && by.now-by.marked > by.ticked+evident/millisecond/2
	if (v.Necessary || v.Processing) && by.marked < l.w.options.ReshardWait && len(m.Begun) > 0 && !late && !l.w.wrong(by.member) {
		l.w.breach("a reshard is awaited", "%s begins %d ms after it saw the mark", by, by.marked)
	}
	if m.Ack && theyLead(v) && (v.Necessary || v.Processing) && min(by.marked, by.asked) < l.w.options.ReshardWait && !by.ending && !banned(v, by.self) && !l.w.wrong(by.member) {
		l.w.breach("a request awaits the deal", "%s accepts it %d ms after it came", by, by.asked)
	}
	if by.ending && len(m.Begun) > 0 {
		l.w.breach("leave", "%s begins, though it was told to end", by)
	}
	if l.w.options.MaxUnstored > 0 && len(m.Begun) > 0 && by.unstored >= l.w.options.MaxUnstored {
		l.w.breach("full history", "%s begins, having %d rows to store", by, by.unstored)
	}
	for _, i := range m.Begun {
		k := slices.IndexFunc(m.Own.Open, func(e protocol.Entry) bool { return e.Item == i })
		switch e := m.Own.Open[k]; {
		// It is paused at the instant or now, or the instant came in a pause.
		case e.Trigger == "" && pausedAt(v, max(e.Instant, by.registryTime())) || e.Trigger == "" && e.Attempt == 1 && cameInPause(v, e.Instant-l.early(by)) && pausedAt(v, e.Instant):
			l.w.breach("pause", "%s begins item %d, seeing the job paused", by, i)
		case e.Cause == protocol.Misfired && e.Attempt == 1 && (v.Necessary || v.Processing):
			l.w.breach("compensation waits", "%s compensates item %d, seeing a reshard awaited", by, i)
		case e.Trigger == "" && e.Attempt == 1 && e.Cause != protocol.After && e.Instant > by.ticked && !caughtUpHere(e, by): // a later attempt is not early, because its run had begun before
			l.w.breach("nothing early", "%s begins item %d run %s, but only %d has come", by, i, runName(e), sinceStart(by.ticked))
		case slices.Contains(old.Assignment.Departing, i):
			l.w.breach("departing", "%s begins item %d, which is about to move", by, i)
		case i < len(v.Items) && v.Items[i].Disabled:
			l.w.breach("disabled items", "%s begins item %d, seeing it disabled", by, i)
		}
	}
	l.marked(m.Begun, by)
	if m.Ack {
		l.accepted(m.Self, old, by)
	}
}

// fit checks that no run begins with a wrong clock or, in a job shared with foreign
// members, without the marks that they read.
func (l *ledger) fit(by origin) {
	if most := by.view.Config.MaxSkew; most > 0 && max(by.skew, -by.skew) > most {
		l.w.breach("the time", "%s, whose clock is %d ms wrong, of %d", by, by.skew, most)
	}
	if shared(by.view) && !by.view.Config.MonitorExecution {
		l.w.breach("strangers", "%s, seeing a member that is not ours, and nothing is monitored", by)
	}
}

// take checks that the member may take the pending runs that it takes.
func (l *ledger) take(m protocol.Take, old *protocol.View, by origin) {
	l.fit(by)
	l.marked(m.Items, by)
	if pausedAt(by.view, by.registryTime()) {
		l.w.breach("pause", "%s, seeing the job paused", by)
	}
	if !by.view.Config.Failover {
		l.w.breach("failover off", "%s", by)
	}
	if n := l.w.options.Slots; n > 0 && len(m.Own.Open) > n {
		l.w.breach("slots", "%s has %d runs in %d slots", by, len(m.Own.Open), n)
	}
	for _, i := range m.Items {
		k := slices.IndexFunc(m.Own.Open, func(e protocol.Entry) bool { return e.Item == i })
		switch e := m.Own.Open[k]; {
		case by.later(e.Instant) || e.Instant < lastOf(old, i):
			l.w.breach("no overtaken run", "%s: item %d run %s, but a later instant had come", by, i, runName(e))
		case !shared(by.view) && slices.ContainsFunc(movable(by.view), func(r protocol.Retry) bool { return r.Item == i }):
			l.w.breach("retries", "%s takes item %d, which waits for its owner", by, i)
		case by.view.Items[i].Disabled:
			l.w.breach("disabled items", "%s takes item %d, seeing it disabled", by, i)
		}
	}
}

// reshard checks that an assignment follows the strategy, moves no running item, and is in the owners' nodes.
func (l *ledger) reshard(m protocol.Reshard, old *protocol.View, by origin) {
	a := &l.v.Assignment
	for i, o := range a.Owners {
		if ownerOf(old, i) == "" { // the item had no owner, so nobody was late to begin it
			l.assigned[i] = l.w.now / millisecond
		}
		if m.Parts {
			continue // the owners' nodes follow in further transactions
		}
		if i < len(old.Items) && i < len(by.view.Items) && old.Items[i].Owner != by.view.Items[i].Owner {
			continue // another writer changed it meanwhile, which the leader will notice
		}
		if i >= len(l.v.Items) || l.v.Items[i].Owner != o {
			l.w.breach("mirror of owners", "%s: item %d belongs to %s, its node says something else", by, i, o)
		}
	}
	for k := range old.Runs {
		r := &old.Runs[k]
		for _, e := range r.Open {
			if ownerOf(old, e.Item) != ownerOf(l.v, e.Item) {
				l.w.breach("nothing running moves", "%s moves item %d, which %s runs", by, e.Item, r.ID)
			}
		}
	}
	want := assign(protocol.AssignRequest{Strategy: by.view.Config.Strategy, Instances: a.Members, Total: a.Total})
	for k, items := range want.Items {
		for _, i := range items {
			if m.Next.Owners[i] != a.Members[k] && !slices.Contains(a.Departing, i) {
				l.w.breach("the strategy's word", "%s: item %d goes to %s, the strategy said %s", by, i, m.Next.Owners[i], a.Members[k])
				return
			}
		}
	}
}

// owners checks that a part of a reshard writes what the assignment says, and that the
// last part includes every member. No part is applied after another leader has assigned
// items.
func (l *ledger) owners(m protocol.Owners, by origin) {
	if by.sent < l.unmarked {
		l.w.breach("the mark of a reshard", "%s, which was sent before the mark was taken away and made anew", by)
	}
	for _, i := range m.Write {
		if o := ownerOf(l.v, i); i >= len(l.v.Items) || l.v.Items[i].Owner != o {
			l.w.breach("mirror of owners", "%s: item %d belongs to %s, its node says something else", by, i, o)
		}
	}
	if m.Last == l.v.Necessary {
		l.w.breach("the mark of a reshard", "%s: the mark is there: %v", by, l.v.Necessary)
	}
	if !m.Last {
		return
	}
	if a := l.v.Assignment; a.Total != by.view.Config.Total {
		l.w.breach("everybody is dealt to", "%s takes the mark away for %d items of %d", by, a.Total, by.view.Config.Total)
	}
	for _, in := range by.view.Instances {
		if !slices.Contains(l.v.Assignment.Members, in.ID) && !banned(by.view, in.ID) {
			l.w.breach("everybody is dealt to", "%s takes the mark away, though %s has not been dealt to", by, in.ID)
		}
	}
}

// readable checks that no member acts on a configuration that cannot be read.
func (l *ledger) readable(by origin) {
	begun := 0
	switch m := by.m.(type) {
	case protocol.Join, protocol.Reshard:
		begun++
	case protocol.Begin:
		begun = len(m.Begun)
	default:
	}
	if begun > 0 && strings.Contains(written(by.view.Definition.Config), garbage) {
		l.w.breach("damage", "%s, on a configuration that cannot be read", by)
	}
}

// strays checks that a member that deletes marks leaves those that another session holds.
// The member's own session is the one in which it decided, since a late write may arrive
// when the process already has another.
func (l *ledger) strays(old *protocol.View, by origin) {
	own := int64(0)
	if k := slices.IndexFunc(by.view.Members, func(m protocol.Member) bool { return m.ID == by.self }); k >= 0 {
		own = by.view.Members[k].Owner
	}
	for i, it := range old.Items {
		if i >= len(l.v.Items) {
			break
		}
		now := l.v.Items[i]
		// Foreign members ignore failover marks while failover is off.
		untaken := l.sessions[it.TakerSession] && !by.view.Config.Failover && by.view.Items[i].Running == 0
		if it.Running != 0 && it.Running != own && now.Running == 0 || it.TakerSession != 0 && it.TakerSession != own && now.TakerSession == 0 && !untaken {
			l.w.breach("another's mark", "%s: item %d was marked by another member", by, i)
		}
	}
}

// sized checks that a transaction writes no more nodes of items than the registry allows,
// unless they belong to one item.
func (l *ledger) sized(ops []registry.Op, by origin) {
	l.light(ops, by)
	most := l.w.options.MaxNodes
	if by.member == nil || most == 0 {
		return
	}
	n := 0
	for _, op := range ops {
		if op.Kind != registry.Check {
			n++
		}
	}
	var one, others int // nodes for each item, and nodes that occur once
	switch by.m.(type) {
	case protocol.Reshard, protocol.Owners:
		one, others, most = 6, 6, most*3/2
	case protocol.Begin, protocol.Take:
		one, others = 3, 3
	case protocol.Complete:
		one, others = 2, 2
	case protocol.Reclaim:
		one, others = 1, 6
	case protocol.Drop, protocol.MarkMisfire, protocol.ClearMarks:
		one, others = 2, 2
	case protocol.Leave, protocol.DeleteOwners:
		one, others = 1, 8
	default:
		return
	}
	if l.w.profile.layout == job.Layout3 { // two nodes name the taker of a run; the core counts one, since deletions are small
		most, one = 2*most, one+1
	}
	if l.w.profile.byAddress() { // the begin of a run has four nodes, of which the core counts one
		most, one, others = 4*most, 4*one, others+len(l.v.Servers)
	}
	if n > max(most, one)+others {
		l.w.breach("size", "%s writes %d nodes at once", by, n)
	}
}

func ownerOf(v *protocol.View, i int) protocol.ID {
	if i < len(v.Assignment.Owners) {
		return v.Assignment.Owners[i]
	}
	return ""
}

// marked checks that a run of a monitored job has its running mark, on which tools that
// only know ElasticJob's nodes rely.
func (l *ledger) marked(items []int, by origin) {
	if by.view.Config == nil || !by.view.Config.MonitorExecution {
		return
	}
	for _, i := range items {
		if i >= len(l.v.Items) || !slices.ContainsFunc(by.view.Members, func(m protocol.Member) bool { return m.ID == by.self && m.Owner == l.v.Items[i].Running }) {
			l.w.breach("marks", "%s: item %d runs and is not marked", by, i)
		}
	}
}

// marks checks that each mark with a session stands for an open run of the session's
// member.
func (l *ledger) marks(by origin) {
	for i, it := range l.v.Items {
		for _, s := range []int64{it.Running, it.TakerSession} {
			if s == 0 || l.sessions[s] {
				continue
			}
			k := slices.IndexFunc(l.v.Members, func(m protocol.Member) bool { return m.Owner == s })
			if k < 0 {
				l.w.breach("marks", "%s: item %d has marks of session %d, which has no member", by, i, s)
				continue
			}
			r := recordOf(l.v, l.v.Members[k].ID)
			if r == nil || !slices.ContainsFunc(r.Open, func(e protocol.Entry) bool { return e.Item == i }) {
				l.w.breach("marks", "%s: item %d has marks of %s, which does not run it", by, i, l.v.Members[k].ID)
			}
		}
	}
}
