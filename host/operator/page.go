package operator

import (
	"context"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/status"
)

// maxLooked is the limit of jobs that are read for one page.
const maxLooked = 1000

// JobFilter selects the jobs of a page.
type JobFilter struct {
	Part  string // a substring of the name
	State string // empty: any; see JobStates
	After string // the page begins after this name
	Limit int    // the maximum of jobs on the page
}

// JobStates are the states that a JobReport can have.
func JobStates() []string {
	return []string{status.Unreadable, status.Down, status.Paused, status.Disabled, status.Running, status.Resharding, status.Idle}
}

// JobsPage returns one page of the reports that Jobs returns, and reads only the jobs of
// this page. next is After of the following page, and empty on the last page. A page that
// filters by state may be short or empty and still have a next one: only a read shows the
// state of a job, and one page reads at most 1000 jobs.
func (o *Operator) JobsPage(ctx context.Context, f JobFilter) (page []JobReport, next string, err error) {
	names, err := o.Names(ctx)
	if err == nil && len(names) == 0 {
		err = o.Namespace(ctx)
	}
	if err != nil {
		return nil, "", err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name <= f.After || !strings.Contains(name, f.Part) })
	for looked := 0; len(names) > 0 && len(page) < f.Limit && looked < maxLooked; {
		n := min(len(names), f.Limit-len(page), maxLooked-looked)
		some, err := o.outlines(ctx, names[:n], false)
		if err != nil {
			return nil, "", err
		}
		for _, of := range some {
			if f.State == "" || of.report.State == f.State {
				page = append(page, *of.report)
			}
		}
		looked, next, names = looked+n, names[n-1], names[n:]
	}
	if len(names) == 0 {
		next = ""
	}
	return page, next, o.addDrains(ctx, page)
}
