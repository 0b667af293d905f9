package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// admitted is the newest decision about whether the member's server may run the job, kept
// as package runner keeps it. A server without a file always may.
type admitted struct {
	file           *job.Config
	member, barred bool
	leaves         bool // it began to leave when it was barred, and goes on if it may run the job again before it has left
}

// kept returns what a new session of the member knows of the decision. A session of the
// same process knows all but the leave, a new process only its file.
func (a admitted) kept(same bool) admitted {
	if a.leaves = false; same {
		return a
	}
	return admitted{file: a.file}
}

// decideAdmission decides again whether the server may run the job, and passes a change to
// the core.
func (m *member) decideAdmission(v *protocol.View) {
	a := &m.admitted
	if a.file == nil {
		return
	}
	config, module := m.w.job.Defined(v)
	f, _ := layout.AdmissionFacts(m.w.job, a.file, config, module, v.Shared())
	f.Unreadable = v.ConfigFault
	// a member now, or until its last session ended
	f.Member, f.Barred = m.st.Self() != "" || a.member && !a.barred, a.barred
	verdict := admission.Decide(&f)
	a.member = f.Member
	if verdict.Barred() == a.barred {
		return
	}
	a.barred = verdict.Barred()
	m.w.tracef("%s: may run the job: %v %v", m.name(), !a.barred, verdict.Blockers)
	o := m.options()
	m.step(protocol.Configured{
		Slots: o.Slots, Queue: o.Queue, Replace: o.Replace, Finish: o.Finish, Started: o.Started, Completed: o.Completed,
		Zoneless: o.Zoneless, Barred: a.barred, Retry: o.Retry, CatchUp: o.CatchUp,
	})
}

// noted traces a note. One of them says that the member begins to leave.
func (m *member) noted(n protocol.Note) {
	m.w.tracef("%s: note: %s", m.name(), n.Why)
	m.admitted.leaves = m.admitted.leaves || n.Why.Code == reason.LeavingUntilAllowed
}

// classMissing reports whether members of 3.0.4 run a job whose root names no class, as that
// which made it was killed meanwhile. Members of ours stay out until an operator writes one.
func (l *ledger) classMissing() bool {
	c, _ := l.w.job.Defined(l.v)
	return c != nil && c.Facts().Class == "" && l.v.Shared()
}

// admitted checks that a member begins beside foreign members only with the class that its
// view shows, since they run that class.
func (l *ledger) admitted(by origin) {
	if by.member == nil || by.member.admitted.file == nil || !by.view.Shared() {
		return
	}
	if _, begins := by.m.(protocol.Begin); !begins {
		return
	}
	if c, _ := l.w.job.Defined(by.view); c != nil && c.Facts().Class != by.member.admitted.file.Class {
		l.w.breach("admission", "%s: it runs another class than the members of ElasticJob", by)
	}
}
