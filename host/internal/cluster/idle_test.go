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

// idleJobs is the number of jobs of the idle server.
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
	// Each time-out has six heartbeats and three pings of the client library. A busy
	// machine only takes longer.
	const enough = 20
	least := session * enough / 20
	at, before := c.received(member(1))
	began := time.Now()
	for range again.C {
		now, n := c.received(member(1))
		if now != at { // the machine was busy for so long that the session was cut off
			at, before, began = now, n, time.Now()
		}
		if n >= before+enough {
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

var connection = regexp.MustCompile(`(\S+)\[\d+\]\(.*recved=(\d+),.*sid=0x([0-9a-f]+)`)

// received returns the number of requests that have come from a member over its
// connection, and the address of that connection; none while it is cut off.
func (c *stage) received(id job.InstanceID) (from string, requests int) {
	c.t.Helper()
	session := strconv.FormatInt(c.session(id), 16)
	for _, m := range connection.FindAllStringSubmatch(c.server.Ask("cons"), -1) {
		if m[3] == session {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				c.t.Fatal(err)
			}
			return m[1], n
		}
	}
	return "", 0
}
