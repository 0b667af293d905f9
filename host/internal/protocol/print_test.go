package protocol_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// print writes a plan: the commit with its facts, then the effects. Lines of
// one commit are indented below its first.
func (c *cluster) print(m *member, p *protocol.Plan) {
	if p.Commit != nil {
		c.printCommit(m.state.View(), p.Commit)
	}
	for k := 0; k < len(p.Effects); {
		n := 1
		if r, ok := p.Effects[k].(protocol.Run); ok {
			n = c.printRuns(r, p.Effects[k+1:])
		} else {
			c.printEffect(p.Effects[k])
		}
		k += n
	}
}

// printRuns writes guests that start alike in one line.
func (c *cluster) printRuns(r protocol.Run, more []protocol.Effect) int {
	items := []int{r.Entry.Item}
	for _, e := range more {
		next, ok := e.(protocol.Run)
		if !ok || next.Fence != r.Fence || entry(next.Entry, "x") != entry(r.Entry, "x") || list(next.Items) != list(r.Items) {
			break
		}
		items = append(items, next.Entry.Item)
	}
	c.say("run %s token %d of %s", entry(r.Entry, list(items)), r.Fence, list(r.Items))
	return len(items)
}

func (c *cluster) printEffect(e protocol.Effect) {
	switch e := e.(type) {
	case protocol.Cancel:
		how := "ask"
		if e.Hard {
			how = "end"
		}
		c.say("%s guest %d: %s", how, e.Item, words(e.Why))
	case protocol.Drain:
		c.say("drain: %s", words(e.Why))
	case protocol.Assign:
		r := e.Request
		var before []string
		for k, items := range r.Previous {
			before = append(before, nameOf(r.Instances[k])+":"+list(items))
		}
		var labels []string
		for k, l := range r.Labels {
			if l != nil {
				labels = append(labels, fmt.Sprintf("%s:%v", nameOf(r.Instances[k]), l))
			}
		}
		c.say("strategy %q: %d items, so far %s, epoch %d%s", r.Strategy, r.Total, strings.Join(before, " "), r.Epoch, given(labels != nil, ", labels "+strings.Join(labels, " ")))
	case protocol.Listen:
		results := ""
		if r := e.Results; r.Instant != 0 {
			results = fmt.Sprintf(", %d succeeded, %d failed, %d had nothing to do", r.Succeeded, r.Failed, r.Skipped)
		}
		c.say("listener %s of %s, attempt %d, token %d%s", e.Event, secondsOf(e.Instant), e.Attempt, e.Fence, results)
	case protocol.EndCall:
		c.say("end the listener")
	case protocol.DeleteRest:
		c.say("delete the rest of the removed job")
	case protocol.Prepare:
		c.say("prepare %.3s", e.Digest)
	case protocol.Reschedule:
		c.say("schedule %q", e.Cron)
	case protocol.Recall:
		c.say("recall %d %s", e.Most, gapsOf(e.Gaps))
	case protocol.Store:
		c.say("store row %s", span(e.Rows[0].Seq, len(e.Rows)))
	case protocol.Wake:
		c.say("wake at %s", secondsOf(e.At))
	case protocol.Sync:
		c.say("sync")
	case protocol.Reread:
		c.say("read everything again")
	case protocol.Answer:
		c.say("answer %d%s", e.ID, because(e.Fault))
	case protocol.Note:
		c.say("note: %s%s", given(e.Wrong, "wrong: "), spelled.ReplaceAllStringFunc(words(e.Why), c.nodeOf))
	case protocol.Stop:
		c.say("stop%s", given(e.Rejoin, ", and join anew")+given(e.Rejoin && e.Removed, " what is there"))
	default:
		c.say("%#v", e)
	}
}

func call(t protocol.Call) string {
	return secondsOf(t.Instant) + given(t.By != "", fmt.Sprintf(" by %s/%d", nameOf(t.By), t.Attempt))
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func given(ok bool, text string) string {
	if ok {
		return text
	}
	return ""
}

// some writes a list with a word before it, unless it is empty.
func some(word string, items []int) string {
	return given(len(items) > 0, word+list(items))
}

func (c *cluster) printCommit(v *protocol.View, m protocol.Mutation) {
	epoch := fmt.Sprintf(" in epoch %d", v.Assignment.Version)
	name := m.Name()
	switch m := m.(type) {
	case protocol.Join:
		c.say("%s as %s%s%s", name, nameOf(m.ID), given(m.Disabled, ", its server disabled"), given(m.Labels != nil, fmt.Sprintf(", labels %v", m.Labels))+given(m.Unattended != 0, ", nobody there at "+secondsOf(m.Unattended)))
	case protocol.Publish:
		c.say("%s %.3s%s", name, m.Ready.Digest, because(m.Ready.Fault))
	case protocol.Switch:
		c.say("%s to %.3s", name, m.Digest)
	case protocol.Define:
		c.say("%s%s%s", name, given(m.Config != nil, " config"), moduleOf(m))
	case protocol.SetServer:
		c.say("%s %s", name, serversOf([]string{m.IP}))
	case protocol.PruneServers:
		c.say("%s %s", name, serversOf(m.IPs))
	case protocol.Elect:
		c.say("%s %s", name, nameOf(m.ID))
	case protocol.Contend:
		c.say("%s for the %s", name, latchOf(m.Latch))
	case protocol.Withdraw:
		c.say("%s from the %s", name, latchOf(m.Latch))
	case protocol.Adopt:
		c.say("%s%s%s", name, epoch, unchanged(m.Check))
		c.printAssignment(&m.Next)
		if m.Self != "" {
			c.printRecord(&m.Own)
		}
	case protocol.ReclaimForeign:
		c.say("%s%s%s", name, epoch, unchanged(m.Check))
		for _, p := range m.Pend {
			c.say("  pending %s of %s", entry(p.Entry, list([]int{p.Item})), nameOf(p.Dead))
		}
		c.printAssignment(&m.Next)
		c.printRecord(&m.Own)
	case protocol.Reshard:
		c.say("%s%s%s%s", name, epoch, unchanged(m.Check), some(", removing ", m.Remove)+some(", clearing ", m.Clear)+some(", without the owners of ", m.DeleteOwners)+given(m.Parts, ", nodes follow in parts"))
		c.printAssignment(&m.Next)
		if m.Self != "" {
			c.printRecord(&m.Own)
		}
	case protocol.Owners:
		c.say("%s%s%s%s%s%s", name, epoch, some(" of ", m.Write), some(", without the owners of ", m.DeleteOwners), some(", removing ", m.Remove)+some(", clearing ", m.Clear), given(m.Last, ", the last part"))
	case protocol.Begin:
		c.say("%s %s%s%s%s%s%s%s", name, list(m.Begun), epoch, given(m.Monitor, ", marked"), given(m.Ack, ", acknowledging"), given(m.More, ", more to follow")+given(m.Shared, ", if the owners are the same")+given(m.Next != 0, ", next at "+secondsOf(m.Next)),
			some(", clearing misfire of ", m.Unmark), some(", dropping pending ", m.DeletePending)+some(", from the backfill of ", m.Backfilled))
		c.printRecord(&m.Own)
	case protocol.Complete:
		c.say("%s %s", name, list(m.Items))
		c.printRecord(&m.Own)
	case protocol.NextAttempt:
		c.say("%s", name)
		c.printRecord(&m.Own)
	case protocol.Forget:
		c.say("%s", name)
		c.printRecord(&m.Own)
	case protocol.RecordMissed:
		c.say("%s in the record of %s", name, nameOf(m.ID))
		c.printRecord(&m.Own)
	case protocol.RecordTaken:
		c.say("%s", name)
		c.printRecord(&m.Own)
	case protocol.Account:
		c.say("%s%s", name, given(m.Next != nil, epoch))
		for k := range m.Pend {
			c.printPending("  ", &m.Pend[k])
		}
		c.printRecord(&m.Own)
	case protocol.MarkMisfire:
		c.say("%s %s", name, list(m.Items))
	case protocol.ClearMarks:
		c.say("%s%s%s%s", name, some(" running ", m.Running), some(" failover ", m.Failover), unchanged(m.Check))
	case protocol.Reclaim:
		c.printReclaim(&m, epoch)
	case protocol.Take:
		c.say("%s %s%s%s%s", name, list(m.Items), epoch, given(m.Monitor, ", marked"), given(m.Place != "", ", with the latch")+given(m.Next != 0, ", next at "+secondsOf(m.Next)))
		c.printRecord(&m.Own)
	case protocol.JoinRound:
		c.say("%s for %s: %s%s%s", name, list(m.Items), m.Event, given(m.Last, ", the last"), given(m.Next != nil, ", then a call of the listener"))
	case protocol.Release:
		c.say("%s %s", name, m.Event)
	case protocol.SetFires:
		c.say("%s started %s, completed %s", name, call(m.Next.Started), call(m.Next.Completed))
	case protocol.Drop:
		c.say("%s %s", name, list(m.Items))
		c.printRecord(&m.Own)
	case protocol.Leave:
		c.say("%s%s%s%s", name, epoch, some(", without the owners of ", m.Items), given(m.Listened, ", renewing the mark if there is one"))
		c.printAssignment(&m.Next)
	case protocol.DeleteOwners:
		c.say("%s %s", name, list(m.Items))
	case protocol.RequestTrigger:
		c.say("%s of %s", name, namesOf(m.To))
	case protocol.SetPaused:
		c.say("%s %v%s", name, m.Paused, given(m.Pause.Until != 0, " until "+secondsOf(m.Pause.Until)))
	case protocol.Count:
		c.say("%s %d succeeded, %d failed", name, m.Handled.Succeeded, m.Handled.Failed)
	case protocol.DisableItem:
		c.say("%s %d %v", name, m.Item, m.Disabled)
	case protocol.DisableServer:
		c.say("%s %s %v", name, serversOf([]string{m.IP}), m.Disabled)
	case protocol.PutBackfill:
		c.say("%s%s", name, epoch)
		c.printBackfills("  ", m.Queues)
	case protocol.DropBackfill:
		c.say("%s %s", name, list(m.Items))
	default:
		c.say("%s", name)
	}
}

func latchOf(l protocol.Latch) string {
	if l == protocol.FailoverLatch {
		return "failover latch"
	}
	return "election latch"
}

func (c *cluster) printAssignment(a *protocol.Assignment) {
	c.say("  owners %s; members %s; total %d", folded(a.Owners, nameOf), namesOf(a.Members), a.Total)
	if len(a.Departing) > 0 {
		c.say("  departing %s", list(a.Departing))
	}
	c.say("  accounted %s", folded(a.Last, secondsOf))
	c.printRequested(a.Requested)
	c.printIdle(&a.Idle)
	c.printTallies(a.Tallies)
	c.printSchedules(a.Schedules)
}

// printIdle prints the spans in which nothing began, without the one before the job existed.
func (c *cluster) printIdle(d *protocol.Idle) {
	for _, s := range d.Spans {
		if s.From > 0 {
			c.say("  idle from %s to %s", secondsOf(s.From), secondsOf(s.To))
		}
	}
	if d.Unattended != 0 {
		c.say("  unattended at %s", secondsOf(d.Unattended))
	}
	if len(d.Resumed) > 0 {
		c.say("  resumed %s", folded(d.Resumed, secondsOf))
	}
}

func (c *cluster) printRequested(r []int64) {
	if len(r) > 0 {
		c.say("  requested %s", folded(r, func(rev int64) string { return fmt.Sprintf("t%d", rev) }))
	}
}

// entry writes item@instant cause/attempt from.., with the items in place of
// its own.
func entry(e protocol.Entry, items string) string {
	cause := string(e.Cause)
	if e.Trigger != "" {
		cause += " " + e.Trigger
	}
	begun := ""
	if e.Begun != 0 {
		begun = secondsOf(e.Begun)
	}
	asked := given(e.Param != "", fmt.Sprintf(" with %q", e.Param)) + given(e.First != 0, " first "+secondsOf(e.First))
	return fmt.Sprintf("%s@%s %s/%d%s%s %s..", items, secondsOf(e.Instant), cause, e.Attempt, given(e.Uncounted != 0, fmt.Sprintf("-%d", e.Uncounted)), asked, begun)
}

// words returns a reason's words. To the compiler a code is a string, so only this shows a
// text in place of a listed code.
func words(r reason.Reason) string {
	if r.Code != "" && !slices.Contains(reason.Codes(), r.Code) {
		panic(fmt.Sprintf("%q is given as a code, and is none", r.Code))
	}
	return r.String()
}

func row(r protocol.Row, items string) string {
	by := given(r.By != "", " by "+nameOf(r.By)) + because(words(r.Why))
	if r.Gap {
		cron := given(r.Cron != "every-10s", " of "+r.Cron)
		return fmt.Sprintf("%s between %s and %s%s %s%s", items, secondsOf(r.After), secondsOf(r.Until), cron, r.State, by)
	}
	return fmt.Sprintf("%s%s %s%s", entry(r.Entry, items), secondsOf(r.Ended), r.State, by)
}

// printRecord prints the whole record of a member.
func (c *cluster) printRecord(d *protocol.RunsData) {
	for k := 0; k < len(d.Open); {
		items := []int{}
		for n := k; n < len(d.Open) && entry(d.Open[n], "x") == entry(d.Open[k], "x"); n++ {
			items = append(items, d.Open[n].Item)
		}
		c.say("  open %s", entry(d.Open[k], list(items)))
		k += len(items)
	}
	for _, r := range d.Retries {
		c.say("  retry %s, not before %s", entry(r.Entry, list([]int{r.Item})), secondsOf(r.After))
	}
	if len(d.Last) > 0 {
		c.say("  accounted %s", folded(d.Last, secondsOf))
	}
	c.printRequested(d.Requested)
	c.printIdle(&d.Idle)
	for _, t := range d.Triggers {
		c.say("  trigger %s@%s of %s", t.ID, secondsOf(t.At), list(t.Items))
	}
	for k := 0; k < len(d.Rows); {
		items := []int{}
		for n := k; n < len(d.Rows) && row(d.Rows[n], "x") == row(d.Rows[k], "x") && d.Rows[n].Seq == d.Rows[k].Seq+int64(n-k); n++ {
			items = append(items, d.Rows[n].Item)
		}
		c.say("  row %s: %s", span(d.Rows[k].Seq, len(items)), row(d.Rows[k], list(items)))
		k += len(items)
	}
	c.printTallies(d.Tallies)
	c.printSchedules(d.Schedules)
	if len(d.Open)+len(d.Retries)+len(d.Last)+len(d.Requested)+len(d.Triggers)+len(d.Rows) == 0 {
		c.say("  record empty")
	}
}

var kinds = map[registry.OpKind]string{
	registry.Create: "create", registry.CreateEphemeral: "create ephemeral", registry.Set: "set",
	registry.Delete: "delete", registry.Check: "check", registry.Absent: "absent", registry.CreateEphemeralSequential: "create ephemeral sequential",
}

func (c *cluster) printOps(ops []registry.Op) {
	for _, op := range ops {
		version := ""
		if op.Version != registry.AnyVersion && (op.Kind == registry.Set || op.Kind == registry.Delete || op.Kind == registry.Check) {
			version = fmt.Sprintf(" of version %d", op.Version)
		}
		c.say("%s %s%s", kinds[op.Kind], c.nodeOf(op.Path), version)
	}
}

// printView prints the tree, without what has its usual value.
func (c *cluster) printView(v *protocol.View) {
	c.say("leader %s; instances %s%s%s%s", or(nameOf(v.Leader), "nobody"), instances(v), given(v.Necessary, "; reshard asked for"),
		given(v.Processing, "; processing"), given(v.Paused, "; paused"))
	for _, s := range v.Servers {
		if s.Disabled {
			c.say("server %s disabled", serversOf([]string{s.IP}))
		}
	}
	for i, it := range v.Items {
		c.say("item %d of %s%s%s%s%s%s", i, or(nameOf(it.Owner), "nobody"), given(it.Marked(), ", running"),
			given(it.Misfire, ", misfire"), given(it.Disabled, ", disabled"), given(it.Failover != "", ", failover by "+nameOf(it.Failover)),
			given(!it.Exists, ", absent"))
	}
	for k := range v.Pending {
		c.printPending("", &v.Pending[k])
	}
	c.printBackfills("", v.Backfills)
	c.say("epoch %d", v.Assignment.Version)
	c.printAssignment(&v.Assignment)
	for k := range v.Runs {
		c.say("record of %s", nameOf(v.Runs[k].ID))
		c.printRecord(v.Runs[k].RunsData)
	}
}

func instances(v *protocol.View) string {
	var names []string
	for _, in := range v.Instances {
		names = append(names, nameOf(in.ID)+given(in.Request != 0, " (triggered)"))
	}
	return or(strings.Join(names, " "), "none")
}

func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}
