package layout

import (
	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/job"
)

// AdmissionFacts are the facts by which a server is admitted to the job that the
// registry defines, as far as the definition says them. file is the job in the
// server's own file, which l makes a definition of; nil if it is not there. Without
// file and module no server of ours can join it, whatever admission says.
func AdmissionFacts(l Definer, file *job.Config, c definition.Config, m *definition.Module, foreign bool) (f admission.Facts, joinable bool) {
	f = admission.Facts{Foreign: foreign, OwnFile: file != nil}
	if c == nil {
		return f, true
	}
	f.Job, joinable = definition.AsJoined(file, l.Define, c, m)
	f.StandsFor = m.StandsFor(f.Job)
	facts := c.Facts()
	f.Definition = &admission.Definition{
		Class: facts.Class, Type: facts.Type, Script: facts.Kind == job.Script, OnlyOurs: facts.OnlyOurs,
		Monitor: facts.MonitorExecution, Strategy: facts.Strategy,
	}
	return f, joinable
}
