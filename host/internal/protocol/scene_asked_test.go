package protocol_test

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// runItems lets runs that an operator requested wait for the owners of their items.
func runItems(c *cluster, a *arguments) error {
	e := protocol.Entry{Instant: c.now, Trigger: a.key("id", "t-1"), Cause: protocol.Triggered, Param: a.key("param", "")}
	var err error
	if e.Attempt, err = strconv.Atoi(a.key("attempt", "1")); err != nil {
		return err
	}
	if e.First, err = msOf(a.key("first", "0")); err != nil {
		return err
	}
	items, err := itemsOf(a.word())
	if err != nil {
		return err
	}
	var runs []protocol.Pending
	for _, i := range items {
		e.Item = i
		runs = append(runs, protocol.Pending{Item: i, Entry: e, After: e.Instant})
	}
	return c.write(layout.Enqueue(c.job, c.look(&c.watcher), runs)...)
}
