package protocol_test

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// play carries out commands of the scripts.
func play(t *testing.T, commands ...string) *cluster {
	t.Helper()
	c := newCluster()
	for _, line := range commands {
		if err := c.command(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	c.printed = nil
	return c
}

// planAfter takes one step and returns what it prints.
func planAfter(t *testing.T, c *cluster, in protocol.Input) string {
	t.Helper()
	c.printed = nil
	if err := c.step(c.me, in); err != nil {
		t.Fatal(err)
	}
	return strings.Join(c.printed, "; ")
}

// TestInputs gives inputs that no script can give, because they answer a question that was
// not asked.
func TestInputs(t *testing.T) {
	t.Parallel()

	t.Run("nothing is decided before the first view", func(t *testing.T) {
		t.Parallel()
		c := play(t, "job", "new a")
		for _, in := range []protocol.Input{protocol.Tick{At: 110_000}, protocol.Elapsed{}, protocol.Stored{Upto: 1}} {
			if got := planAfter(t, c, in); got != "" {
				t.Errorf("%T gave %q", in, got)
			}
		}
		if id := c.me.state.Self(); id != "" {
			t.Errorf("a member that has not joined is known as %s", id)
		}
	})

	t.Run("the answer to another commit is no answer", func(t *testing.T) {
		t.Parallel()
		c := play(t, "job", "start a", "tick 110")
		if id := c.me.state.Self(); id != idOf("a") {
			t.Errorf("a is known as %s", id)
		}
		for _, plan := range []int64{0, c.me.flight.plan - 1, c.me.flight.plan + 1} {
			in := protocol.Committed{Plan: plan, Outcome: protocol.Applied, Revision: 7}
			if got := planAfter(t, c, in); got != "" {
				t.Errorf("the answer to plan %d gave %q", plan, got)
			}
		}
		answer := protocol.Committed{Plan: c.me.flight.plan, Outcome: protocol.Applied, Revision: 7}
		if got := planAfter(t, c, answer); !strings.HasPrefix(got, "run 0@110") {
			t.Errorf("its own answer gave %q", got)
		}
		if got := planAfter(t, c, answer); got != "" {
			t.Errorf("the same answer once more gave %q", got)
		}
	})

	t.Run("the end of another attempt is no end", func(t *testing.T) {
		t.Parallel()
		c := play(t, "job total=2", "start a", "tick 110", "apply")
		e := c.me.guests[0]
		for _, change := range []func(*protocol.Entry){
			func(e *protocol.Entry) { e.Item = 7 },
			func(e *protocol.Entry) { e.Instant++ },
			func(e *protocol.Entry) { e.Attempt++ },
			func(e *protocol.Entry) { e.Trigger = "t1" },
		} {
			other := e
			change(&other)
			if got := planAfter(t, c, protocol.Finished{{Entry: other, State: protocol.Succeeded}}); got != "" {
				t.Errorf("the end of %+v gave %q", other, got)
			}
		}
		if got := planAfter(t, c, protocol.Finished{{Entry: e, State: protocol.Failed}}); !strings.HasPrefix(got, "complete 0") {
			t.Errorf("its own end gave %q", got)
		}
		if got := planAfter(t, c, protocol.Finished{{Entry: e, State: protocol.Succeeded}}); got != "" {
			t.Errorf("a second end gave %q", got)
		}
	})

	t.Run("rows are safe in order", func(t *testing.T) {
		t.Parallel()
		c := play(t, "job total=2", "start a", "tick 110", "apply", "finish 0-1 succeeded", "apply", "apply", "stored 2")
		if got := planAfter(t, c, protocol.Stored{Upto: 1}); got != "" {
			t.Errorf("an older acknowledgement of the history gave %q", got)
		}
	})

	t.Run("an assignment that was not asked for is ignored", func(t *testing.T) {
		t.Parallel()
		c := play(t, "job", "start a")
		in := protocol.Assigned{Request: protocol.AssignRequest{Total: 1, Instances: []protocol.ID{idOf("a")}, Epoch: 1}, Items: [][]int{{0}}}
		if got := planAfter(t, c, in); got != "" {
			t.Errorf("it gave %q", got)
		}
		if err := c.command("operator reshard"); err != nil {
			t.Fatal(err)
		}
		if err := c.observe(c.me); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.printed, "; "); !strings.HasPrefix(got, "strategy") {
			t.Errorf("then a reshard was asked for, which gave %q", got)
		}
	})
}

// TestUnchangedNotices changes what has been published, which the check for changes must
// notice.
func TestUnchangedNotices(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*cluster){
		"a view":                    func(c *cluster) { c.me.shown.Items[0].Owner = "x" },
		"a view behind its pointer": func(c *cluster) { c.me.shown.Config.Total++ },
		"the end of a view's slice": func(c *cluster) { _ = append(c.me.shown.Instances, protocol.Instance{ID: "x"}) },
		"the end of an inner slice": func(c *cluster) { r := &c.me.shown.Runs[0]; _ = append(r.Open, protocol.Entry{Item: 9}) },
		"a plan": func(c *cluster) {
			begin := c.me.flight.m.(protocol.Begin)
			begin.Own.Open[0].Attempt++
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := play(t, "job total=2", "start a", "tick 110", "apply", "tick 120", "finish 0 succeeded", "apply")
			if name == "a plan" {
				c = play(t, "job total=2", "start a", "tick 110")
			}
			if err := c.unchanged(len(c.frozen)); err != nil {
				t.Fatalf("nothing was changed yet: %v", err)
			}
			change(c)
			if c.unchanged(len(c.frozen)) == nil {
				t.Error("the change was not noticed")
			}
		})
	}
}
