package sim

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// startTime is when simulated time begins, in seconds since 1970.
const startTime = 1_700_000_000

// sinceStart returns an instant in ms since startTime, as traces and breaches show it.
func sinceStart(instant int64) int64 { return instant - startTime*1000 }

// tracef writes a line to the trace, with the simulated time since the start. It does
// nothing if no trace is wanted.
func (w *World) tracef(format string, args ...any) {
	if w.trace == nil {
		return
	}
	fmt.Fprintf(w.trace, "%12.6f  %s%s\n", float64(w.now-startTime*second)/1e6, w.label, fmt.Sprintf(format, args...))
}

// runName names a run in a trace: by its trigger, or by its instant in ms since startTime.
func runName(e protocol.Entry) string {
	if e.Trigger != "" {
		return e.Trigger
	}
	return strconv.FormatInt(sinceStart(e.Instant), 10)
}

// describe returns a mutation in a few words.
func describe(m protocol.Mutation) string {
	switch m := m.(type) {
	case protocol.Join:
		return "join " + string(m.ID)
	case protocol.Begin:
		return fmt.Sprintf("begin %v ack %v rows %s open %s", m.Begun, m.Ack, rows(m.Own.Rows), entries(m.Own.Open))
	case protocol.Take:
		return fmt.Sprintf("take %v open %s", m.Items, entries(m.Own.Open))
	case protocol.Complete:
		return fmt.Sprintf("complete %v rows %s", m.Items, rows(m.Own.Rows))
	case protocol.Drop:
		return fmt.Sprintf("drop %v", m.Items)
	case protocol.Reclaim:
		return fmt.Sprintf("reclaim %s pend %v rows %s", m.Dead, m.Pend, rows(m.Own.Rows))
	case protocol.Reshard:
		return fmt.Sprintf("reshard total %d owners %v last %v, in parts %v, without owners of %v", m.Next.Total, m.Next.Owners, m.Next.Last, m.Parts, m.DeleteOwners)
	case protocol.Owners:
		return fmt.Sprintf("owners of %v, without those of %v and %v %v, last %v", m.Write, m.DeleteOwners, m.Remove, m.Clear, m.Last)
	case protocol.Adopt:
		return fmt.Sprintf("adopt total %d owners %v last %v", m.Next.Total, m.Next.Owners, m.Next.Last)
	case protocol.ReclaimForeign:
		return fmt.Sprintf("orphan pend %v rows %s last %v", m.Pend, rows(m.Own.Rows), m.Next.Last)
	case protocol.SetFires:
		return fmt.Sprintf("tell %+v", m.Next)
	case protocol.MarkMisfire:
		return fmt.Sprintf("mark-misfire %v", m.Items)
	case protocol.ClearMarks:
		return fmt.Sprintf("clear-marks %+v", m)
	case protocol.PutConfig:
		return "put-config " + describeConfig(m.Config)
	case protocol.Publish:
		return fmt.Sprintf("publish %s %+v", m.Member.ID, m.Ready)
	case protocol.Switch:
		return "switch to " + m.Digest
	case protocol.Define:
		return fmt.Sprintf("define %s, module %q", describeConfig(m.Config), written(m.Module))
	case protocol.DisableItem, protocol.DisableServer, protocol.SetPaused, protocol.RequestTrigger:
		return fmt.Sprintf("%s %+v", m.Name(), m)
	default:
		return m.Name()
	}
}

// written returns the text of a part of a definition.
func written(part protocol.Spelled) string {
	if part == nil {
		return ""
	}
	return part.String()
}

// alike reports whether two parts have the same text.
func alike(a, b protocol.Spelled) bool { return bytes.Equal(spelling.Bytes(a), spelling.Bytes(b)) }

// describeConfig returns the main settings of a configuration, or its text if it cannot
// be decoded.
func describeConfig(part protocol.Spelled) string {
	c, err := v21.DecodeConfig([]byte(written(part)))
	if err != nil || c == nil {
		return fmt.Sprintf("%q", written(part))
	}
	return fmt.Sprintf("total %d cron %q failover %v misfire %v monitor %v strategy %q", c.ShardingTotalCount, c.Cron, c.Failover, c.Misfire, c.MonitorExecution, c.JobShardingStrategyClass)
}

// describeAsk returns a request in a few words.
func describeAsk(a protocol.Ask) string {
	if c, ok := a.(protocol.AskConfig); ok {
		return fmt.Sprintf("%T over version %s: %s", a, c.Have, describeConfig(c.Config))
	}
	return fmt.Sprintf("%T%+v", a, a)
}

// rows spells rows for a trace: item, run, attempt and state, or a gap with its ends.
func rows(rs []protocol.Row) string {
	var s strings.Builder
	for _, r := range rs {
		if r.Gap {
			fmt.Fprintf(&s, " %d:gap(%d,%d)", r.Item, sinceStart(r.After), sinceStart(r.Until))
			continue
		}
		fmt.Fprintf(&s, " %d:%s#%d=%s", r.Item, runName(r.Entry), r.Attempt, r.State)
	}
	return "[" + s.String() + "]"
}

// entries spells runs for a trace: item, run and attempt.
func entries(es []protocol.Entry) string {
	var s strings.Builder
	for _, e := range es {
		fmt.Fprintf(&s, " %d:%s#%d", e.Item, runName(e), e.Attempt)
	}
	return "[" + s.String() + "]"
}

// summary describes the true tree.
func (l *ledger) summary() string {
	v := l.v
	if v == nil {
		return "empty"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "leader %s necessary %v paused %v total %d", v.Leader, v.Necessary, l.paused(), v.Assignment.Total)
	for _, in := range v.Instances {
		fmt.Fprintf(&s, "\n  instance %s alive %v", in.ID, alive(v, in.ID))
	}
	for _, m := range v.Members {
		fmt.Fprintf(&s, "\n  member %s session %d", m.ID, m.Owner)
	}
	for _, sv := range v.Servers {
		fmt.Fprintf(&s, "\n  server %s disabled %v", sv.IP, sv.Disabled)
	}
	for i, it := range v.Items {
		fmt.Fprintf(&s, "\n  item %d %+v", i, it)
	}
	for _, p := range v.Pending {
		fmt.Fprintf(&s, "\n  pending %+v", p)
	}
	for _, r := range v.Runs {
		fmt.Fprintf(&s, "\n  record %s open %s rows %s triggers %v", r.ID, entries(r.Open), rows(r.Rows), r.Triggers)
	}
	return s.String()
}
