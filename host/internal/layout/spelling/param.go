package spelling

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// paramVersion is the version of a value with a waiting or open run that has its own
// parameter. A release that does not know this version refuses the value; otherwise it
// would begin the run with the job's parameter.
const paramVersion = 2

// versionOf returns the version of a value with one run.
func versionOf(e *protocol.Entry) int {
	if e.Param != "" {
		return paramVersion
	}
	return Version
}

// versionOfRuns returns the version of a record. Ended runs do not change it.
func versionOfRuns(d *protocol.RunsData) int {
	if slices.ContainsFunc(d.Open, func(e protocol.Entry) bool { return e.Param != "" }) ||
		slices.ContainsFunc(d.Retries, func(r protocol.Retry) bool { return r.Param != "" }) {
		return paramVersion
	}
	return Version
}
