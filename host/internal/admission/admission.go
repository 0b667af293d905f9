// Package admission answers one question: may this server run this job together with the
// job's other members, and if not, why?
//
// Facts go in, reasons come out. The runner asks when the definition or the members of
// its job change; discovery, before it starts a job of the registry; doctor, reports and
// shadow, to predict the answer. These callers read the facts from the registry and act
// on the answer.
package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Definition is the part of the registry's configuration that admission needs.
type Definition struct {
	Layout    string // of the job's tree
	ByAddress bool   // the layout identifies members by their addresses
	Class     string // what members of ElasticJob run
	Type      string // ElasticJob's word for the kind of the job
	Script    bool   // it is a command of the operating system
	OnlyOurs  bool   // no member of ElasticJob can run it
	HTTP      bool   // it sends a request, which our servers do not do
	Static    bool   // its items stay with the members that got them first
	Monitor   bool   // members mark the items that they run
	Strategy  string // used by a leader of ElasticJob to assign items
	// StrategyType is the only name that such a leader accepts for Strategy; empty if
	// that is Strategy itself.
	StrategyType string
}

// Facts are the input of Decide.
type Facts struct {
	// Job is the job as it would be in force on the server. If the server's own file has
	// the job, its kind and class are from there.
	Job job.Config
	// Definition is nil if the registry has none, or an unreadable one.
	Definition *Definition
	Unreadable string // why Definition cannot be read
	Foreign    bool   // members of ElasticJob take part in the job

	// OwnFile says that the server's own file has the job. Member says that the server is
	// a member of the job, or was when its last session ended. Barred says that the
	// previous verdict barred the server; it returns only when the cause is gone.
	OwnFile, Member, Barred bool
	// FileLayout is the layout that the server's own file names; empty if the file does
	// not have the job.
	FileLayout string
	// StandsFor says that our servers have run the job in place of the class that Job
	// names. If the registry has another class, that was written later.
	StandsFor bool

	// Unable lists settings of the job that the server cannot, or must not, carry out;
	// see the function Unable. It is empty if the question is not about a particular
	// server.
	Unable []reason.Reason
	// Knows reports whether the server has a strategy of that name. If nil, strategies
	// are not checked.
	Knows func(strategy string) bool
}

// Verdict is the result of Decide.
type Verdict struct {
	// Blockers are the reasons why the server must not run the job. If there are none, it
	// may.
	Blockers []reason.Reason
	// OnlyAlone are the reasons why the server may run the job only while no member of
	// ElasticJob takes part.
	OnlyAlone []reason.Reason
	// Warnings say how the job deviates from its configuration, although the server may
	// run it.
	Warnings []reason.Reason
}

// Barred reports whether the server must not run the job.
func (v *Verdict) Barred() bool { return len(v.Blockers) > 0 }

// Refusal returns an error with one line for each reason.
func Refusal(blockers []reason.Reason) error {
	lines := make([]string, len(blockers))
	for i, why := range blockers {
		lines[i] = why.WithHint()
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Decide answers the question. Blockers that do not depend on members of ElasticJob last
// until a file or the registry is changed; the others, as long as such members take part.
func Decide(f *Facts) Verdict {
	v := Verdict{Blockers: f.Unable}
	switch {
	case f.Definition != nil && f.Definition.HTTP:
		v.block(reason.Of(reason.TypeHTTP))
	case f.Definition != nil && f.Definition.Static:
		v.block(reason.Of(reason.StaticSharding))
	case f.Definition != nil:
		v.decideLayout(f)
		v.decideClass(f)
		v.decideCommonTerms(f)
		v.decideStrategy(f)
		v.warnOfStrategy(f)
	case !f.Foreign: // no blocker is needed: the core begins no run without a definition
	case f.Unreadable != "":
		v.block(reason.Of(reason.ConfigUnreadable, f.Unreadable)) // their leader assigns items regardless
	default:
		v.block(reason.Of(reason.ConfigGoneWithForeign))
	}
	return v
}

// block appends a copy, because the list may belong to the caller.
func (v *Verdict) block(why reason.Reason) {
	v.Blockers = append(slices.Clip(v.Blockers), why)
}

// decideLayout requires the layout that the server's own file names. If members are
// identified by addresses, the nodes have no room for what members of ElasticJob must know
// of ours, so foreign members are a blocker.
func (v *Verdict) decideLayout(f *Facts) {
	if is := f.Definition.Layout; f.FileLayout != "" && is != f.FileLayout {
		v.block(reason.Of(reason.LayoutDiffers, is, f.FileLayout))
	}
	if f.Foreign && f.Definition.ByAddress {
		v.block(reason.Of(reason.ForeignByAddress))
	}
}

// decideClass decides what follows if the registry's class is not what the server would run.
// Beside members of ElasticJob two classes would run, so that is a blocker. Otherwise a
// server that runs the job goes on, as members of ElasticJob do. So does a server that
// starts, if our servers have stood in for that class: else the job would run nowhere after
// a restart of all servers. A file that says overwrite is about to write its own class.
func (v *Verdict) decideClass(f *Facts) {
	why := f.otherClass()
	stays := !f.Barred && (f.Member || f.OwnFile && f.StandsFor)
	switch {
	case why.None():
	case f.Foreign, !stays && !f.Job.Overwrite:
		v.block(why)
	case !f.Job.Overwrite:
		v.OnlyAlone = []reason.Reason{why, reason.Of(reason.ClassStays)}
	}
}

// otherClass returns a reason if the server would run something other than the registry
// says: another class or command, or a command in place of a class. It returns none if both
// agree or no member of ElasticJob can run the job.
func (f *Facts) otherClass() reason.Reason {
	d, script := f.Definition, f.Job.Kind == job.Script
	switch {
	case f.Foreign && d.OnlyOurs && d.Class == "":
		// A member of ElasticJob 3.x that was killed while it made the job leaves it so. Others
		// run it with whatever class they have.
		return reason.Of(reason.ClassMissing)
	case d.OnlyOurs, d.Script && script, !d.Script && !script && d.Class == f.Job.Class:
		return reason.Reason{}
	case d.Script || script:
		return reason.Of(reason.TypeDiffers, d.Type, string(f.Job.Kind))
	case f.Job.Class == "":
		return reason.Of(reason.ClassNotNamed, quoted(d.Class))
	}
	return reason.Of(reason.ClassDiffers, quoted(d.Class), quoted(f.Job.Class))
}

// decideCommonTerms requires a common time zone and marks of running items: only then do
// instants and marks mean the same to all members.
func (v *Verdict) decideCommonTerms(f *Facts) {
	if f.Foreign && f.Job.TimeZone == "" {
		v.block(reason.Of(reason.ZoneMissing))
	}
	if f.Foreign && !f.Definition.Monitor {
		v.block(reason.Of(reason.MonitorOff))
	}
}

// decideStrategy decides about a strategy whose name a leader of ElasticJob does not accept,
// though leaders of ours know it; StrategyType is the name that it would accept. Such a
// leader takes the items from all members and assigns none.
func (v *Verdict) decideStrategy(f *Facts) {
	d := f.Definition
	if d.StrategyType == "" {
		return
	}
	if why := reason.Of(reason.StrategyNoType, quoted(d.Strategy), d.StrategyType); f.Foreign {
		v.block(why)
	} else if !d.OnlyOurs {
		v.Warnings = append(v.Warnings, why)
	}
}

// warnOfStrategy warns of a strategy that will not assign the items as configured: this
// server does not know it, or, beside members of ElasticJob, a strategy module is not asked.
func (v *Verdict) warnOfStrategy(f *Facts) {
	warn := func(c reason.Code, name string) { v.Warnings = append(v.Warnings, reason.Of(c, quoted(name))) }
	unknown := func(name string) bool { return f.Knows != nil && !f.Knows(name) }
	j := &f.Job
	switch {
	case f.Foreign:
		if unknown(f.Definition.Strategy) {
			warn(reason.StrategyUnknownWithForeign, f.Definition.Strategy)
		}
		if j.StrategyModule != "" {
			warn(reason.StrategyModuleRefused, j.StrategyModule)
		}
	case j.StrategyModule != "" || !unknown(j.Strategy):
	case f.OwnFile || len(f.Unable) == 0: // otherwise it is a blocker already
		warn(reason.StrategyUnknown, j.Strategy)
	}
}

// quoted returns a name from outside in a form that is safe to show.
func quoted(name string) string { return fmt.Sprintf("%.200q", name) }
