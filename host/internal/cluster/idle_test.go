package cluster_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/job"
)

// idleJobs is how many jobs the server has that asks for nothing.
const idleJobs = 50

// Any number of jobs at rest sends no request to the service: their server sends only the
// heartbeats of its one session.
func idle(t *testing.T, c *stage) {
	const session = 2 * time.Second
	m := c.Start(cluster.Options{
		Instance: member(1), Job: manual(2), Session: session,
		Adjust: func(o *host.Options) {
			for k := range idleJobs {
				config := manual(2)
				config.Name = fmt.Sprintf("job-%d", k)
				o.Jobs = append(o.Jobs, config)
			}
		},
	})
	c.calm(member(1))
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for range again.C {
		if atRest(m.Host.Jobs()) {
			break
		}
	}
	// Six heartbeats and three pings of the client library in each time-out. A
	// busy machine only makes it take longer.
	const enough = 20
	least := session * enough / 20
	before, began := c.received(member(1)), time.Now()
	for range again.C {
		if c.received(member(1)) >= before+enough {
			break
		}
	}
	if took := time.Since(began); took < least {
		t.Errorf("%d requests within %v, want at least %v", enough, took, least)
	}
}

func atRest(jobs []job.Status) bool {
	for _, j := range jobs {
		if j.Leader == "" || len(j.Items) != 2 || j.Items[0].Owner == "" {
			return false
		}
	}
	return true
}

var connection = regexp.MustCompile(`recved=(\d+),.*sid=0x([0-9a-f]+)`)

// received is how many requests have come from a member.
func (c *stage) received(id job.InstanceID) int {
	c.t.Helper()
	session := strconv.FormatInt(c.session(id), 16)
	for _, m := range connection.FindAllStringSubmatch(c.server.Ask("cons"), -1) {
		if m[2] == session {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				c.t.Fatal(err)
			}
			return n
		}
	}
	c.t.Fatalf("no connection has session %s", session)
	return 0
}
