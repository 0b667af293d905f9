package operator

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/assign"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/strategy"
)

// Compare lets reports also tell what keeps a server from its jobs in whose own
// file they are like these.
func (o *Operator) Compare(files []job.Config) {
	o.files = make(map[string]*job.Config, len(files))
	for i := range files {
		o.files[files[i].Name] = &files[i]
	}
}

// blockers are what keeps servers of ours from the job as the registry has it, and
// what they cannot do as it says, or is otherwise beside members of ElasticJob.
func (o *Operator) blockers(name string, v *protocol.View, config definition.Config, module *definition.Module) (blockers, faults []reason.Reason) {
	if config == nil {
		return nil, nil // the view's own faults tell
	}
	j, ok := definition.AsJoined(o.files[name], layout.NewJob(o.namespace, name).Define, config, module)
	if !ok {
		return nil, nil // it is none of ours
	}
	stays := len(v.Members) > 0 || o.files[name] != nil && module.StandsFor(j)
	blockers = layout.Hindrances(config, j, v.Shared(), stays)
	if _, err := schedule.Compile(j.Cron, j.Dialect, j.TimeZone); j.Cron != "" && err != nil {
		faults = append(faults, unreadable(v, j, err))
	}
	if v.Shared() {
		return blockers, append(faults, layout.Cautions(config, j, assign.Known(nil))...)
	}
	if stays {
		faults = append(faults, layout.Stays(config, j)...)
	}
	return blockers, append(faults, unknownStrategy(j, nil)...)
}

// unreadable says what a cron that cannot be read does to a job.
func unreadable(v *protocol.View, j job.Config, err error) reason.Reason {
	if v.Shared() || len(v.Members) == 0 {
		return reason.Of(reason.CronInvalid, err.Error())
	}
	for _, s := range slices.Backward(v.Past().Schedules) {
		if _, unread := schedule.Compile(s.Cron, j.Dialect, j.TimeZone); s.Cron != "" && unread == nil {
			return reason.Of(reason.CronInvalidGoesOn, strconv.Quote(s.Cron), err.Error())
		}
	}
	return reason.Of(reason.CronInvalid, err.Error())
}

// unknownStrategy tells of a job of ours alone whose strategy is not there.
func unknownStrategy(j job.Config, own map[string]strategy.Strategy) []reason.Reason {
	if j.StrategyModule != "" || assign.Known(own)(j.Strategy) {
		return nil
	}
	return []reason.Reason{reason.Of(reason.StrategyUnknown, fmt.Sprintf("%.200q", j.Strategy))}
}
