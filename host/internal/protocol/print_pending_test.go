package protocol_test

import "github.com/wasmjob/wasmjob/host/internal/protocol"

func (c *cluster) printEnqueue(m *protocol.Enqueue, epoch string) {
	c.say("%s %s%s%s%s", m.Name(), nameOf(m.Dead), epoch, given(m.Rest != nil, " in part"), given(len(m.Check) > 0, ", if nobody of "+namesOf(m.Check)+" set its record"))
	for k := range m.Pend {
		c.printPending("  ", &m.Pend[k])
	}
	c.printAssignment(&m.Next)
	c.printRecord(&m.Own)
}

func (c *cluster) printPending(indented string, p *protocol.Pending) {
	c.say("%spending %s%s%s", indented, entry(p.Entry, list([]int{p.Item})), given(p.After != 0, ", not before "+secondsOf(p.After)), given(p.Dead != "", " of "+nameOf(p.Dead)))
}
