package host

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
)

// Compare lets reports also tell what keeps a server from its jobs in whose own
// file they are like these.
func (o *Operator) Compare(files []job.Config) {
	o.files = make(map[string]*job.Config, len(files))
	for i := range files {
		o.files[files[i].Name] = &files[i]
	}
}

// hindrances say what keeps servers of ours from the job as the registry has it,
// what they cannot do as it says, and what is otherwise beside members of
// ElasticJob.
func (o *Operator) hindrances(name string, v *protocol.View) []string {
	config, err := layout.DecodeConfig21(v.ConfigData)
	if v.ConfigFault != "" || err != nil || config == nil {
		return nil // the view's own faults tell
	}
	var module *layout.Module
	if m, err := layout.DecodeModule(v.Module); v.Dirs.Module && err == nil {
		module = &m
	}
	j, ok := layout.AsJoined(o.files[name], config, module)
	if !ok {
		return nil // it is none of ours
	}
	var lines []string
	for _, line := range config.Hindrances(j, v.Shared(), len(v.Members) > 0) {
		lines = append(lines, "servers of ours do not run it: "+line)
	}
	if _, err := schedule.Compile(j.Cron, j.Dialect, j.TimeZone); j.Cron != "" && err != nil {
		lines = append(lines, unreadable(v, j)+": cron: "+err.Error())
	}
	if v.Shared() {
		return append(lines, config.Cautions(j, new(Options).knows)...)
	}
	if text := config.Stays(j); text != "" && len(v.Members) > 0 {
		lines = append(lines, text)
	}
	return append(lines, new(Options).dealtOtherwise(j)...)
}

// unreadable says what a cron that cannot be read does to a job.
func unreadable(v *protocol.View, j job.Config) string {
	if v.Shared() || len(v.Members) == 0 {
		return "nothing fires"
	}
	for _, s := range slices.Backward(v.Past().Schedules) {
		if _, err := schedule.Compile(s.Cron, j.Dialect, j.TimeZone); s.Cron != "" && err == nil {
			return fmt.Sprintf("it goes on by the schedule before, %q, until another cron is written", s.Cron)
		}
	}
	return "nothing fires"
}

// dealtOtherwise tells of a job of ours alone whose strategy is not there.
func (o *Options) dealtOtherwise(j job.Config) []string {
	if j.StrategyModule != "" || o.knows(j.Strategy) {
		return nil
	}
	return []string{fmt.Sprintf("its strategy %.200q is not known here, and servers that do not know it deal its items out evenly: set jobShardingStrategyClass to one that there is", j.Strategy)}
}
