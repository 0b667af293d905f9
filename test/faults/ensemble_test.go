package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// ensemble is a ZooKeeper of several servers, each on its own machine.
type ensemble struct {
	machines []machine
	servers  []*zktest.Server
}

// newEnsemble starts an ensemble; lines are added to the configuration of its servers.
func newEnsemble(t *testing.T, n *network, size int, lines ...string) ensemble {
	t.Helper()
	var e ensemble
	var hosts []zktest.Host
	for range size {
		m := n.machine(fmt.Sprint("zk", n.hosts))
		e.machines = append(e.machines, m)
		hosts = append(hosts, zktest.Host{IP: m.ip, Enter: m.enter()})
	}
	release := zktest.Newer
	if *debian {
		release = zktest.Debian
	}
	e.servers = zktest.StartEnsembleOn(t, release(t), hosts, zktest.Options{Tick: 500 * time.Millisecond, Lines: lines})
	return e
}

// others returns all machines but one.
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

// leader returns the number of the leading server, or -1 if none leads.
func (e ensemble) leader() int {
	return slices.IndexFunc(e.servers, func(s *zktest.Server) bool { return s.Role() == "leader" })
}

// log returns the transactions in the logs of all servers, one server after the other.
func (e ensemble) log() []zktest.Transaction {
	var all []zktest.Transaction
	for _, s := range e.servers {
		all = append(all, s.Log()...)
	}
	return all
}
