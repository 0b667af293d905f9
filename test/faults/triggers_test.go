package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

// trigger runs all items of a job now, through one server, and waits until every server
// has accepted that.
func (c *cluster) trigger(s *server, name string) {
	c.Helper()
	s.insist("job", "trigger", name)
	c.await("the trigger to be accepted", func([]evidence.Line) bool {
		return !slices.ContainsFunc(c.show(s, name).Members, func(m member) bool { return m.Triggered })
	})
}

// triggered checks that every trigger that all its servers have accepted either ran every
// item or has a row with the reason. ZooKeeper's log has the triggers; there must be at
// least the given number.
func (c *cluster) triggered(least int) {
	c.Helper()
	type key struct {
		job  string
		item int
		run  string
	}
	ends := map[key]map[trace.State]bool{} // by final rows; two histories may have the same row
	for _, r := range c.input.Rows {
		if k := (key{r.Job, r.Item, r.Run}); r.State.Final() {
			if ends[k] == nil {
				ends[k] = map[trace.State]bool{}
			}
			ends[k][r.State] = true
		}
	}
	accepted := 0
	for id, j := range c.accepted() {
		accepted++
		for i := range j.Items {
			if states := ends[key{j.Name, i, id}]; len(states) != 1 {
				c.Errorf("%s, item %d: the trigger %s ended %d times: %v", j.Name, i, id, len(states), states)
			}
		}
	}
	if accepted < least {
		c.Errorf("%d triggers were accepted by all servers, less than %d", accepted, least)
	}
}

// accepted returns the triggers, by their ids with their jobs, except those that an
// instance had not accepted when it died or when they were overwritten.
func (c *cluster) accepted() map[string]evidence.Job {
	all, waits := map[string]evidence.Job{}, map[string]string{} // ids by path of an instance
	for _, t := range c.ensemble.log() {
		id := fmt.Sprint("t", t.Zxid)
		for _, change := range t.Changes {
			if change.Kind != zktest.Set && change.Kind != zktest.Deleted {
				continue
			}
			asked := change.Kind == zktest.Set && string(change.Data) == "TRIGGER"
			if was, ok := waits[change.Path]; ok && (asked || change.Kind == zktest.Deleted) {
				delete(all, was) // deleted with the instance, or overwritten
			}
			if delete(waits, change.Path); !asked {
				continue
			}
			for _, j := range c.input.Jobs {
				if strings.HasPrefix(change.Path, "/"+c.name+"/"+j.Name+"/") {
					all[id], waits[change.Path] = j, id
				}
			}
		}
	}
	return all
}
