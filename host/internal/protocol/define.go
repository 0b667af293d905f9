package protocol

// A job is defined by two nodes: config, which is ElasticJob's, and the module's, which
// is ours. A change of both writes them at once, against the versions from which it was
// derived.

// Version tells what a part of a definition was derived from. Only a layout makes
// one, of as many nodes as it has for that part, and knows what it says; to others
// two are the same or not.
type Version string

// NoModule is the version of a module's node that does not exist; no layout makes it.
const NoModule Version = "-1"

// define turns a request into the write of what differs.
func (v *View) define(a AskDefine) (m Mutation, fault string) {
	var d Define
	if !same(v.Definition.Config, a.Config) {
		d.Config = a.Config
	}
	if !same(v.Definition.Module, a.Module) {
		d.Module = a.Module
	}
	switch {
	case d.Config == nil && d.Module == nil:
		return nil, ""
	case v.Config == nil && v.ConfigFault == "":
		return nil, "the job has no configuration any more"
	case v.ConfigVersion != a.Have || v.moduleVersion() != a.HaveModule:
		return nil, "the job was changed by somebody else meanwhile"
	}
	return d, ""
}

// Configured: Options that concern the job's runs have changed.
type Configured struct {
	Slots                  int
	Queue, Replace, Finish bool
	Started, Completed     bool
	Zoneless, Barred       bool
	Retry                  RetryPolicy
	CatchUp                int
}

func (Configured) input() {}

func (s *State) configured(in Configured) {
	s.o.Slots, s.o.Queue, s.o.Replace, s.o.Finish = in.Slots, in.Queue, in.Replace, in.Finish
	s.o.Started, s.o.Completed, s.o.Zoneless, s.o.Barred, s.o.Retry, s.o.CatchUp = in.Started, in.Completed, in.Zoneless, in.Barred, in.Retry, in.CatchUp
}

func (v *View) moduleVersion() Version {
	if !v.HasModule {
		return NoModule
	}
	return v.ModuleVersion
}
