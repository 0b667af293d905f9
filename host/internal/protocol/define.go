package protocol

// Two nodes define a job: config, which is ElasticJob's, and the module's node, which is
// ours. A change of both writes them in one transaction, against the versions from which it
// was derived.

// Version identifies what a part of a definition was derived from. Only a layout makes a
// Version, from as many nodes as that part has, and knows its form. Others only compare two
// for equality.
type Version string

// NoModule is the version of a module's node that does not exist; no layout makes it.
const NoModule Version = "-1"

// define returns the write of the parts that differ, or why it is not possible. There is
// neither if both parts are as the operator wants them.
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

// Configured carries the changed Options of the job's runs.
type Configured struct {
	Slots                  int
	Queue, Replace, Finish bool
	Started, Completed     bool
	Zoneless, Barred       bool
	Retry                  RetryPolicy
	CatchUp                int
}

func (Configured) input() {}

// configured replaces the options that follow from the job's configuration.
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
