package spelling

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// paramVersion is the version of a value with a run that waits or is open and has a
// parameter of its own. A release that does not know it would begin the run with the
// parameter of the job; such a release refuses the value.
const paramVersion = 2

func versionOf(e *protocol.Entry) int {
	if e.Param != "" {
		return paramVersion
	}
	return Version
}

// versionOfRuns is the version of a record. Runs that have ended leave it as it is.
func versionOfRuns(d *protocol.RunsData) int {
	if slices.ContainsFunc(d.Open, func(e protocol.Entry) bool { return e.Param != "" }) ||
		slices.ContainsFunc(d.Retries, func(r protocol.Retry) bool { return r.Param != "" }) {
		return paramVersion
	}
	return Version
}
