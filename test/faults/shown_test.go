package faults

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

// shown is a program's output about a job.
type shown struct {
	Leader     string
	Resharding bool
	Faults     []string
	Members    []member
}

type member struct {
	Items     int
	Triggered bool // it has not accepted the trigger yet
}

// show prints a job with the program of a server.
func (c *cluster) show(s *server, name string) (out shown) {
	c.Helper()
	c.await("what is shown of a job", func([]evidence.Line) bool {
		cmd := s.verb("job", "show", name, "-o", "json")
		var errors bytes.Buffer
		cmd.Stderr = &errors
		text, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil {
			c.Logf("%s job show %s: %v: %s%s", s.program, name, err, text, errors.String())
		}
		return err == nil
	})
	return out
}

// assignedItems returns the number of a job's assigned items; 0 while a reshard is
// pending.
func (c *cluster) assignedItems(s *server, name string) (items int) {
	c.Helper()
	j := c.show(s, name)
	for _, m := range j.Members {
		items += m.Items
	}
	if j.Resharding {
		return 0
	}
	return items
}

// leads waits until a server leads all jobs.
func (c *cluster) leads(s *server) {
	c.Helper()
	c.await(s.machine.ip+" to lead", func([]evidence.Line) bool {
		return !slices.ContainsFunc(c.input.Jobs, func(j evidence.Job) bool {
			return job.InstanceID(c.show(s, j.Name).Leader).IP() != s.machine.ip
		})
	})
}

// healthy waits until the program of a server reports no trouble of any job.
func (c *cluster) healthy(s *server) {
	c.Helper()
	for _, j := range c.input.Jobs {
		var faults []string
		c.await(s.program+" to find nothing wrong with "+j.Name, func([]evidence.Line) bool {
			if f := c.show(s, j.Name).Faults; !slices.Equal(f, faults) {
				c.Logf("%s: %s: %q", s.program, j.Name, f)
				faults = f
			}
			return len(faults) == 0
		})
	}
}
