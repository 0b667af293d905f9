// Package admission answers one question: may this server run this job beside the
// members that it has, and if not, why?
//
// Facts go in, reasons come out. The runner asks when the definition or the members
// of its job change, discovery before it starts a job of the registry, and doctor,
// reports and shadow for those who want to know beforehand. Who reads the facts from
// the registry, and what becomes of the answer, is decided by them.
package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Definition is what the configuration in the registry says to admission.
type Definition struct {
	Layout    string // of the job's tree
	ByAddress bool   // the layout knows members by their addresses
	Class     string // what members of ElasticJob run
	Type      string // ElasticJob's word for the kind of job
	Script    bool   // it is a command of the operating system
	OnlyOurs  bool   // no member of ElasticJob can run it
	HTTP      bool   // it sends a request, which no server of ours does
	Static    bool   // its items stay with the members that got them first
	Monitor   bool   // members mark the items that they run
	Strategy  string // by which a leader of ElasticJob assigns
	// StrategyType is the only name that it takes for Strategy; empty: Strategy itself.
	StrategyType string
}

// Facts are what the answer is made of.
type Facts struct {
	// Job is the job as it would be in force on the server. Its kind and class are
	// those that the server's own file has, if it has the job.
	Job job.Config
	// Definition is nil if the registry has none, or one that cannot be read.
	Definition *Definition
	Unreadable string // why it cannot be read
	Foreign    bool   // members of ElasticJob have a part in the job

	// OwnFile: the server's own file has the job. Member: the server is a member of the
	// job, or was until its session ended. Barred: the answer before this one kept
	// the server out, and it comes back only when what did is mended.
	OwnFile, Member, Barred bool
	// FileLayout is the layout that the server's own file names; empty: it does not have
	// the job.
	FileLayout string
	// StandsFor: servers of ours have run the job in the place of the class that Job
	// names. If the registry has another class, somebody has written that since.
	StandsFor bool

	// Unable is what of the job's settings the server cannot, or must not, carry out:
	// see Unable. It is empty where nobody asks for a certain server.
	Unable []reason.Reason
	// Knows tells whether the server has a strategy of that name; nil: do not ask.
	Knows func(strategy string) bool
}

// Verdict is the answer.
type Verdict struct {
	// Blockers are why the server must not run the job; none: it may.
	Blockers []reason.Reason
	// OnlyAlone is why it may only as long as no member of ElasticJob has a part in
	// the job.
	OnlyAlone []reason.Reason
	// Warnings are what is not as the job's configuration says, though the server may
	// run it.
	Warnings []reason.Reason
}

// Barred reports whether the server must not run the job.
func (v *Verdict) Barred() bool { return len(v.Blockers) > 0 }

// Refusal is an error with a line for each of these reasons.
func Refusal(blockers []reason.Reason) error {
	lines := make([]string, len(blockers))
	for i, why := range blockers {
		lines[i] = why.WithHint()
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Decide answers the question. A blocker that holds without members of ElasticJob
// lasts until a file or the registry is changed; the others, as long as those members
// are there.
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
	case !f.Foreign: // nobody runs it before the core finds a definition
	case f.Unreadable != "":
		v.block(reason.Of(reason.ConfigUnreadable, f.Unreadable)) // their leader assigns items all the same
	default:
		v.block(reason.Of(reason.ConfigGoneWithForeign))
	}
	return v
}

// block adds to a list that is the caller's.
func (v *Verdict) block(why reason.Reason) {
	v.Blockers = append(slices.Clip(v.Blockers), why)
}

// decideLayout: a server reads and writes a job by the layout that its own file names. Where
// addresses name members, the nodes have no room for what ours tell those of ElasticJob.
func (v *Verdict) decideLayout(f *Facts) {
	if is := f.Definition.Layout; f.FileLayout != "" && is != f.FileLayout {
		v.block(reason.Of(reason.LayoutDiffers, is, f.FileLayout))
	}
	if f.Foreign && f.Definition.ByAddress {
		v.block(reason.Of(reason.ForeignByAddress))
	}
}

// decideClass: a server that runs the job already goes on whatever the class, as
// members of ElasticJob do, and so does one that starts for a class that ours have
// stood in for. If nobody did, the job would run nowhere once all servers had been
// restarted. Beside members of ElasticJob two classes would run.
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

// otherClass is what to do where the server would run something else than the
// registry says; none: it is the same, or the class is nobody's.
func (f *Facts) otherClass() reason.Reason {
	d, script := f.Definition, f.Job.Kind == job.Script
	switch {
	case d.OnlyOurs, d.Script && script, !d.Script && !script && d.Class == f.Job.Class:
		return reason.Reason{}
	case d.Script || script:
		return reason.Of(reason.TypeDiffers, d.Type, string(f.Job.Kind))
	case f.Job.Class == "":
		return reason.Of(reason.ClassNotNamed, quoted(d.Class))
	}
	return reason.Of(reason.ClassDiffers, quoted(d.Class), quoted(f.Job.Class))
}

// decideCommonTerms: instants and marks mean the same to all members only if they have
// a time zone in common and mark what they run.
func (v *Verdict) decideCommonTerms(f *Facts) {
	if f.Foreign && f.Job.TimeZone == "" {
		v.block(reason.Of(reason.ZoneMissing))
	}
	if f.Foreign && !f.Definition.Monitor {
		v.block(reason.Of(reason.MonitorOff))
	}
}

// decideStrategy: where the name is none for members of ElasticJob, those of them that lead
// take the items from all members, and assign none. A leader of ours knows the name.
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
	case f.OwnFile || len(f.Unable) == 0: // else it is a blocker already
		warn(reason.StrategyUnknown, j.Strategy)
	}
}

// quoted is a name that others chose, as it may be shown.
func quoted(name string) string { return fmt.Sprintf("%.200q", name) }
