package protocol_test

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// elsewhere prints the row of a run that an earlier member of the same server had open.
func elsewhere(c *cluster, m *member, a *arguments) error {
	var i, at, attempt int
	if _, err := fmt.Sscanf(a.word(), "%d@%d/%d", &i, &at, &attempt); err != nil {
		return err
	}
	e := protocol.Entry{Item: i, Instant: int64(at) * 1000, Cause: protocol.Scheduled, Attempt: attempt, Begun: int64(at) * 1000}
	rows := m.state.Elsewhere(idOf(a.word()), []protocol.Entry{e}).Rows
	if len(rows) == 0 {
		c.say("nothing")
	}
	for _, r := range rows {
		c.say("%s", row(r, list([]int{r.Item})))
	}
	return nil
}
