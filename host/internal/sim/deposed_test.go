package sim

import (
	"bytes"
	"testing"
)

// TestDeposedServers adds registry servers that are replaced without noticing. No profile
// has them by itself.
func TestDeposedServers(t *testing.T) {
	t.Parallel()
	replaced := 0
	for seed := range uint64(60) {
		p := profiles()[seed%3]
		p.faults.depose = 4
		var trace bytes.Buffer
		r := run(seed, p, &trace)
		replaced += bytes.Count(trace.Bytes(), []byte("its server is replaced"))
		if r.Breach != nil {
			t.Fatalf("seed %d broke %q:\n%s", seed, r.Breach.Invariant, lastLines(trace.String()))
		}
	}
	if replaced < 60 {
		t.Errorf("%d servers were replaced", replaced)
	}
	t.Logf("%d servers were replaced", replaced)
}
