package protocol_test

import (
	"errors"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// noServer is a server that records for a job that it does not run, or is to remove.
func noServer(c *cluster, a *arguments) error {
	v := c.look(&c.watcher)
	if a.flag("stored") {
		for k := range v.Runs {
			if m, ok := v.Stored(v.Runs[k].ID); ok {
				c.printCommit(v, m)
				if err := c.tool(m); err != nil {
					return err
				}
				v = c.look(&c.watcher)
			}
		}
		return nil
	}
	m, ok := protocol.NoServer{Now: c.now, By: idOf("z"), Removed: a.flag("removed")}.Record(v)
	if !ok {
		c.say("nothing, a server reports it")
		return nil
	}
	c.printCommit(v, m)
	c.printOps(c.job.Encode(m, v))
	return c.tool(m)
}

// A server that has joined since reports by itself, so nothing is written for it.
func TestNoServerHoldsUntilAMemberJoins(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]string{
		"it was killed":     {"die a"},
		"it left in order":  {"ask leave", "calm"},
		"none has come yet": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := play(t, append([]string{"job total=2", "start a"}, before...)...)
			v := c.look(&c.watcher)
			m, ok := protocol.NoServer{Now: 145_000, By: idOf("z")}.Record(v)
			if ok != (before != nil) {
				t.Fatalf("it is recorded: %v", ok)
			}
			if err := c.command("start b"); err != nil {
				t.Fatal(err)
			}
			if err := c.write(c.job.Encode(m, v)...); ok && !errors.Is(err, registry.ErrConflict) {
				t.Errorf("beside a server: error %v, want a conflict", err)
			}
		})
	}
}
