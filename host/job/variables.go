package job

import (
	"strconv"
	"strings"
)

// VariablePrefix begins the names of all variables that describe a run to a script. A granted
// variable may not begin with it.
const VariablePrefix = "WASMJOB_"

// Variables returns the environment variables that describe a run, so that a script need not
// parse JSON. A value with a NUL, which no environment can hold, is left out.
func (c *Call) Variables() [][2]string {
	all := [][2]string{
		{"WASMJOB_JOB", c.Config.Name},
		{"WASMJOB_ITEM", strconv.Itoa(c.Item)},
		{"WASMJOB_TOTAL", strconv.Itoa(c.Total)},
		{"WASMJOB_RUN_ID", c.RunID},
		{"WASMJOB_ATTEMPT", strconv.Itoa(c.Attempt)},
		{"WASMJOB_FENCE", strconv.FormatInt(c.Fence, 10)},
	}
	add := func(name, value string) {
		if !strings.Contains(value, "\x00") {
			all = append(all, [2]string{name, value})
		}
	}
	add("WASMJOB_JOB_PARAM", c.Config.Param)
	if c.HasItemParam {
		add("WASMJOB_ITEM_PARAM", c.ItemParam)
	}
	if !c.Scheduled.IsZero() {
		add("WASMJOB_SCHEDULED", c.Scheduled.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	}
	return all
}
