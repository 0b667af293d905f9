package layout

import (
	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/job"
)

// AdmissionFacts returns the facts of a job that decide whether a server may run it. file
// is the job in the server's own file, or nil; l turns it into a definition. c and m are
// the registry's configuration and module, nil if there is none that can be read. foreign
// says that members of ElasticJob take part. Without file and module no server of ours can
// join, so joinable is false.
func AdmissionFacts(l Definer, file *job.Config, c definition.Config, m *definition.Module, foreign bool) (f admission.Facts, joinable bool) {
	f = admission.Facts{Foreign: foreign, OwnFile: file != nil}
	if file != nil {
		f.FileLayout = file.Layout
	}
	if c == nil {
		return f, true // the registry has no definition, so the server creates it
	}
	f.Job, joinable = definition.AsJoined(file, l.Define, c, m)
	f.StandsFor = m.StandsFor(f.Job)
	facts := c.Facts()
	f.Definition = &admission.Definition{
		Layout: facts.Layout, ByAddress: facts.ByAddress, Class: facts.Class, Type: facts.Type, Script: facts.Kind == job.Script, OnlyOurs: facts.OnlyOurs, HTTP: facts.HTTP, Static: facts.Static,
		Monitor: facts.MonitorExecution, Strategy: facts.Strategy, StrategyType: facts.StrategyType,
	}
	return f, joinable
}
