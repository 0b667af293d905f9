package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// ensemble is a ZooKeeper of several servers, each on a machine of its own.
type ensemble struct {
	machines []machine
	servers  []*zktest.Server
}

func newEnsemble(t *testing.T, n *network, size int) ensemble {
	t.Helper()
	var e ensemble
	var hosts []zktest.Host
	for i := range size {
		m := n.machine(fmt.Sprint("zk", i+1))
		e.machines = append(e.machines, m)
		hosts = append(hosts, zktest.Host{IP: m.ip, Enter: m.enter()})
	}
	release := zktest.Newer
	if *debian {
		release = zktest.Debian
	}
	e.servers = zktest.StartEnsembleOn(t, release(t), hosts, zktest.Options{Tick: 500 * time.Millisecond})
	return e
}

// others are all machines but one.
func (e ensemble) others(one int) []machine {
	return slices.Concat(e.machines[:one], e.machines[one+1:])
}

func (e ensemble) addresses() []string {
	var all []string
	for _, s := range e.servers {
		all = append(all, s.Address())
	}
	return all
}
