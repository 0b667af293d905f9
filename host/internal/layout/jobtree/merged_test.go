package jobtree_test

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Members of ElasticJob never delete the nodes of servers, so a job whose members get new addresses has thousands. A
// copy of the list for each would block the loop, and commands for all jobs.
func TestManyServersAreCopiedOnce(t *testing.T) { //nolint:paralleltest // measures memory of the process
	j := v21.NewJob("ns", "job")
	bytes := func(servers int) uint64 {
		d := j.NewDecoder(nil)
		d.View()
		paths := make([]string, servers)
		for i := range paths {
			paths[i] = fmt.Sprintf("/ns/job/servers/10.0.%d.%d", i>>8, i&255)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, path := range paths {
			d.Apply(path, registry.Node{Exists: true})
		}
		v := d.View()
		d.Apply(paths[0], registry.Node{Exists: true, Data: []byte("DISABLED")})
		for _, path := range paths[1:] {
			d.Apply(path, registry.Node{})
		}
		gone := d.View()
		runtime.ReadMemStats(&after)
		if len(v.Servers) != servers || !slices.IsSortedFunc(v.Servers, func(a, b protocol.Server) int { return cmp.Compare(a.IP, b.IP) }) {
			t.Fatalf("%d servers of %d, or in another order", len(v.Servers), servers)
		}
		if len(gone.Servers) != 1 || !gone.Servers[0].Disabled || v.Servers[0].Disabled {
			t.Fatalf("%d servers are left, %+v; the first one was %+v", len(gone.Servers), gone.Servers, v.Servers[0])
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := bytes(100), bytes(2000)
	if most := 2 * 20 * few; many > most {
		t.Errorf("2,000 servers take %d bytes, 100 take %d: more than twice as many for each", many, few)
	}
}
