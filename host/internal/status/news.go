package status

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// News is a change of a job between two views.
type News struct {
	Why reason.Reason
	Bad bool // a failure, not an intended change
}

// Between returns the changes of a job from one view to the next: members that died, a
// new leader, and acts of an operator. self is the member that calls; its own death is
// left out, and only triggers for self count.
func Between(was, is *protocol.View, self protocol.ID) []News {
	var all []News
	report := func(c reason.Code, args ...string) { all = append(all, News{Why: reason.Of(c, args...)}) }
	for _, in := range was.Instances {
		if in.ID == self || present(is, in.ID) {
			continue
		}
		switch ours := member(was, in.ID); {
		case !ours:
			all = append(all, News{reason.Of(reason.ForeignGone, string(in.ID)), false})
		case leftBehind(is, in.ID):
			all = append(all, News{reason.Of(reason.MemberGone, string(in.ID)), true})
		}
	}
	if is.Leader != "" && is.Leader != was.Leader {
		report(reason.LeaderChanged, string(is.Leader))
	}
	acts(was, is, self, report)
	return all
}

// acts reports the acts of an operator. An item or server that has come or gone since is not
// one: only its setting is compared.
func acts(was, is *protocol.View, self protocol.ID, report func(reason.Code, ...string)) {
	choose := func(now, before bool, yes, no reason.Code, args ...string) {
		switch {
		case now == before:
		case now:
			report(yes, args...)
		default:
			report(no, args...)
		}
	}
	switch {
	case is.Paused && (!was.Paused || is.Pause != was.Pause):
		report(reason.OperatorPaused, is.Pause.End(), is.Pause.Why)
	case was.Paused && !is.Paused:
		report(reason.OperatorResumed)
	}
	for i := range min(len(was.Items), len(is.Items)) {
		if was.Items[i].Exists && is.Items[i].Exists {
			choose(is.Items[i].Disabled, was.Items[i].Disabled, reason.OperatorDisabledItem, reason.OperatorEnabledItem, strconv.Itoa(i))
		}
	}
	for _, s := range is.Servers {
		k := slices.IndexFunc(was.Servers, func(o protocol.Server) bool { return o.IP == s.IP })
		if k >= 0 {
			choose(s.Disabled, was.Servers[k].Disabled, reason.OperatorDisabledServer, reason.OperatorEnabledServer, s.IP)
		}
	}
	asked := func(v *protocol.View) bool {
		return slices.ContainsFunc(v.Instances, func(in protocol.Instance) bool { return in.ID == self && in.Request != 0 })
	}
	if asked(is) && !asked(was) {
		report(reason.OperatorTriggered)
	}
	if was.Definition.Config != nil && is.Definition.Config != nil && !is.Definition.Config.Same(was.Definition.Config) {
		report(reason.ConfigChanged)
	}
}

// present reports whether the id is registered as an instance, ours or foreign.
func present(v *protocol.View, id protocol.ID) bool {
	return slices.ContainsFunc(v.Instances, func(in protocol.Instance) bool { return in.ID == id })
}

// member reports whether the id is that of a live member of ours.
func member(v *protocol.View, id protocol.ID) bool {
	return slices.ContainsFunc(v.Members, func(m protocol.Member) bool { return m.ID == id })
}

// leftBehind reports whether a member that is gone left without ending its record: the
// record still exists, or its runs are pending.
func leftBehind(v *protocol.View, id protocol.ID) bool {
	return !member(v, id) && (slices.ContainsFunc(v.Runs, func(r protocol.Runs) bool { return r.ID == id }) ||
		slices.ContainsFunc(v.Pending, func(p protocol.Pending) bool { return p.Dead == id }))
}
