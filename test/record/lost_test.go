package record

import (
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// TestLost checks that the loss of a session or a connection is found, unless the member
// got a signal.
func TestLost(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	begun := func(second int, session int64) zktest.Transaction {
		return zktest.Transaction{Time: at(second), Session: session, Changes: []zktest.Change{{Kind: zktest.SessionBegun}}}
	}
	status := func(second int, session int64) zktest.Transaction {
		return zktest.Transaction{Time: at(second), Session: session, Changes: []zktest.Change{{Kind: zktest.Created, Path: "/ns/job/servers/10.0.0.1/status", Ephemeral: true}}}
	}
	joined := []zktest.Transaction{begun(1, 7), status(2, 7)}
	for name, c := range map[string]struct {
		then      []zktest.Transaction
		signalled int // 0 for never
		want      string
	}{
		"nothing":                          {nil, 0, ""},
		"the operator comes":               {[]zktest.Transaction{begun(3, 8)}, 0, ""},
		"another session":                  {[]zktest.Transaction{begun(3, 8), status(4, 8)}, 0, "m1"},
		"another session of a frozen one":  {[]zktest.Transaction{begun(4, 8), status(5, 8)}, 3, ""},
		"another connection":               {[]zktest.Transaction{status(3, 7)}, 0, "m1"},
		"another connection before a kill": {[]zktest.Transaction{status(3, 7)}, 4, "m1"},
	} {
		p := &process{name: "m1", argv: []string{"ip=10.0.0.1"}, launched: at(0)}
		if c.signalled > 0 {
			p.signalled = at(c.signalled)
		}
		s := &stage{processes: []*process{{name: "tool"}, p}, sessions: map[int64]string{7: "m1"}}
		if got := s.lost(slices.Concat(joined, c.then)); got != c.want {
			t.Errorf("%s: lost is %q, want %q", name, got, c.want)
		}
	}
}
