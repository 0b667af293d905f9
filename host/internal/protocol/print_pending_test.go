package protocol_test

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

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

func (c *cluster) printBackfills(indented string, all []protocol.Backfill) {
	for _, f := range all {
		var instants []string
		for _, t := range f.Instants {
			instants = append(instants, secondsOf(t))
		}
		c.say("%sbackfill %d: %s", indented, f.Item, or(strings.Join(instants, " "), "none"))
	}
}

// unchanged prints the condition that none of these members has written its record.
func unchanged(ids []protocol.ID) string {
	return given(len(ids) > 0, ", if the records of "+namesOf(ids)+" are unchanged")
}

func moduleOf(m protocol.Define) string {
	if m.Module == nil {
		return ""
	}
	return " module " + m.Module.String()
}

// printSchedules prints a schedule that has changed.
func (c *cluster) printSchedules(all []protocol.Schedule) {
	for k := 1; k < len(all); k++ {
		c.say("  %s until %s, then %s", or(all[k-1].Cron, "manual"), secondsOf(all[k].Since), or(all[k].Cron, "manual"))
	}
}

func (c *cluster) printTallies(all []protocol.Tally) {
	for _, t := range all {
		c.say("  at %s %d of %d ended well", secondsOf(t.Instant), t.Well, t.Of)
	}
}
