package runner

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// admitted is the verdict on whether this server may be in the job, with the facts that
// decided it.
type admitted struct {
	definition      protocol.Definition
	foreign, member bool
	admission.Verdict
}

// decideAdmission decides whether this server may be in the job that the view shows.
// If it may not, it reports each blocker, and the member writes only what it needs to
// leave.
func (m *member) decideAdmission() {
	v, old := m.loop.View(), m.admitted
	if v.ConfigFault != "" {
		return // the core reports it and begins nothing
	}
	now := admitted{definition: v.Definition, foreign: v.Shared(), member: m.isMember()}
	if now.definition.Same(old.definition) && now.foreign == old.foreign && now.member == old.member {
		return // the facts are the same, and so is the verdict
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

// admission decides whether the server may be in the job. It leaves out strategies that
// the server does not know: the core reports those. The file counts only if the job comes
// from it, not for a job that was found in the registry.
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

// isMember reports whether the server is in the job, or was in it when its last session
// ended.
func (m *member) isMember() bool {
	return m.self != "" || m.admitted.member && !m.admitted.Barred()
}

// isBarred reports whether the server must not be in the job. An unreadable definition
// may bar it, too; the core reports that.
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

// reportBlockers reports the blockers if they differ from was, the ones before. If there
// are any, it also gives the signal that the job has joined, since the start of a server
// does not wait for a barred job.
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
	m.defining.disputed = nil // only members report disputes
	m.troubles.clear(troubleDefinition)
	m.joined.give()
}
