package cluster_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry/zk"
)

// Every member reports when each item last began and ended, on any member. The clock of
// the service is compared, and runs may begin. A dump shows no address.
func times(t *testing.T, c *stage) {
	config := manual(4)
	config.MaxClockSkew = time.Minute
	one := c.Start(cluster.Options{Instance: member(1), Job: config})
	two := c.Start(cluster.Options{Instance: member(2), Job: config})
	c.calm(member(1), member(2))
	began := time.Now().Truncate(time.Millisecond)
	c.trigger(one)
	c.stored(4)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for _, m := range []*cluster.Member{one, two} {
		for item := 0; item < 4; {
			s := m.Host.Jobs()[0].Items[item]
			if s.LastBegin.Before(began) || s.LastEnd.Before(s.LastBegin) {
				<-again.C // it has not received the change yet
				continue
			}
			item++
		}
	}

	r, err := zk.New(zk.Options{Servers: []string{c.server.Address()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }() // it returns no error
	o, err := operator.Open(t.Context(), r, "times")
	if err != nil {
		t.Fatal(err)
	}
	var dump bytes.Buffer
	if err := o.Dump(t.Context(), "job", &dump); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"10.0.0.": false, "ip1": true, "ip2": true, "shardingTotalCount": true} {
		if strings.Contains(dump.String(), text) != want {
			t.Errorf("%q is in the dump: %v\n%s", text, !want, &dump)
		}
	}
}
