package protocol_test

import "github.com/wasmjob/wasmjob/host/internal/protocol"

func (c *cluster) printReclaim(m *protocol.Reclaim, epoch string) {
	c.say("%s %s%s%s%s", m.Name(), nameOf(m.Dead), epoch, given(m.Rest != nil, " in part"), unchanged(m.Check))
	for k := range m.Pend {
		c.printPending("  ", &m.Pend[k])
	}
	c.printAssignment(&m.Next)
	c.printRecord(&m.Own)
}

func (c *cluster) printPending(indented string, p *protocol.Pending) {
	c.say("%spending %s%s%s", indented, entry(p.Entry, list([]int{p.Item})), given(p.After != 0, ", not before "+secondsOf(p.After)), given(p.Dead != "", " of "+nameOf(p.Dead)))
}

// unchanged is a condition: none of these members has set its record.
func unchanged(ids []protocol.ID) string {
	return given(len(ids) > 0, ", if the records of "+namesOf(ids)+" are unchanged")
}
