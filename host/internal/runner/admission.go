package runner

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// admitted is whether this server may be in the job, and what that was decided by.
type admitted struct {
	definition      protocol.Definition
	foreign, member bool
	admission.Verdict
}

// decideAdmission finds out whether this server may be in the job that the view
// shows. If it may not, each reason is reported, and nothing of the job is written
// but what a member needs to leave.
func (m *member) decideAdmission() {
	v, old := m.loop.View(), m.admitted
	if v.ConfigFault != "" {
		return // the core takes care
	}
	now := admitted{definition: v.Definition, foreign: v.Shared(), member: m.isMember()}
	if now.definition.Same(old.definition) && now.foreign == old.foreign && now.member == old.member {
		return
	}
	now.Verdict = m.admission()
	m.admitted = now
	m.reportBlockers(old.Blockers)
	if class := now.OnlyAlone; len(class) > 0 && !slices.Equal(class, old.OnlyAlone) {
		m.Log.Error("the registry has another class for the job", "reason", reason.Words(class, "; "), "reason_code", class[0].Code)
	}
	m.troubles.because(troubleClass, now.OnlyAlone)
	m.troubles.because(troubleShared, now.Warnings)
}

// admission asks whether the server may be in the job. Of strategies that it does not
// know the core tells.
func (m *member) admission() admission.Verdict {
	config, module := m.Layout.Defined(m.loop.View())
	file := m.file
	if m.Define == nil {
		file = nil
	}
	f, joinable := layout.AdmissionFacts(m.Layout, file, config, module, m.loop.View().Shared())
	if !joinable {
		return admission.Verdict{}
	}
	f.Member, f.Barred = m.isMember(), m.admitted.Barred()
	return admission.Decide(&f)
}

// isMember: the server is in the job, or was until its session ended.
func (m *member) isMember() bool {
	return m.self != "" || m.admitted.member && !m.admitted.Barred()
}

// isBarred also counts what cannot be read, of which the core tells.
func (m *member) isBarred() bool {
	if m.admitted.Barred() {
		return true
	}
	v := m.loop.View()
	if v.ConfigFault == "" {
		return false
	}
	unreadable := admission.Decide(&admission.Facts{Unreadable: v.ConfigFault, Foreign: v.Shared()})
	return unreadable.Barred()
}

// reportBlockers reports what has changed.
func (m *member) reportBlockers(was []reason.Reason) {
	all := m.admitted.Blockers
	if slices.Equal(all, was) {
		return
	}
	m.troubles.because(troubleBarred, all)
	if len(all) == 0 {
		m.Log.Info("this server may run the job now")
		return
	}
	for _, why := range all {
		m.Log.Error("this server must not run the job", "reason", why.String(), "reason_code", why.Code)
	}
	m.defining.disputed = nil // that is for members
	m.troubles.clear(troubleDefinition)
	m.joined.give()
}
