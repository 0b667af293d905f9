package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// order checks the settings after of all jobs in the file.
type order struct {
	*builder
	names []string
	jobs  map[string]*job.Config
	seen  map[string]bool // visited jobs
	path  []string        // from the first visited job to the present one; each job runs after the next one
	depth map[string]int  // position of each job in path, from 1
}

// order reports each setting after that names an unknown job, or that makes jobs run after each
// other in a circle.
func (b *builder) order() {
	o := order{builder: b, jobs: map[string]*job.Config{}, seen: map[string]bool{}, depth: map[string]int{}}
	for i := range b.file.Jobs {
		c := &b.file.Jobs[i]
		o.names, o.jobs[c.Name] = append(o.names, c.Name), c
	}
	for _, name := range o.names {
		o.visit(name)
	}
}

// visit checks the setting after of a job and then, depth first, the jobs before it. A job that
// is in path already closes a circle.
func (o *order) visit(name string) {
	if o.seen[name] {
		return
	}
	o.seen[name] = true
	o.path = append(o.path, name)
	o.depth[name] = len(o.path)
	after := o.jobs[name].After
	after = after[:min(len(after), job.MaxAfter)] // Validate reports more
	for i, before := range after {
		if before == name || slices.Contains(after[:i], before) {
			continue // Validate reports it
		}
		if why := o.fault(before); !why.None() {
			o.builder.fault(joinKey("jobs", name), "after", "["+strconv.Itoa(i)+"]", why)
		} else if o.jobs[before] != nil {
			o.visit(before)
		}
	}
	o.path = o.path[:len(o.path)-1]
	delete(o.depth, name)
}

// fault returns why the last job of path cannot run after the job before; none if it can.
func (o *order) fault(before string) reason.Reason {
	table := joinKey("jobs", before)
	switch c, k := o.jobs[before], o.depth[before]; {
	case k > 0:
		return reason.Of(reason.AfterCycle, strings.Join(append(slices.Clone(o.path[k-1:]), before), " after "))
	case c == nil && (o.broken || o.afterAny): // another file may have it, or one that could not be read
	case c == nil:
		own := o.path[len(o.path)-1] // no job runs after itself
		others := slices.DeleteFunc(slices.Clone(o.names), func(name string) bool { return name == own })
		return meantOr(before, others, reason.AfterMeant, reason.Of(reason.AfterUnknown, strconv.Quote(before)))
	case o.isSet(table+".schedule") && !o.isSet(table+".cron") && !o.isSet(table+".after"): // it has no instants
		return reason.Of(reason.AfterManual, strconv.Quote(before))
	}
	return reason.Reason{}
}
