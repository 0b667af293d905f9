package sim

import (
	"bytes"
	"flag"
	"testing"
)

var (
	catchUpFrom  = flag.Uint64("catch-up-from", 0, "the first seed of TestWhatWasMissedIsCaughtUp")
	catchUpSeeds = flag.Uint64("catch-up-seeds", 25, "how many seeds it runs")
)

func TestWhatWasMissedIsCaughtUp(t *testing.T) {
	t.Parallel()
	for seed := *catchUpFrom; seed < *catchUpFrom+*catchUpSeeds; seed++ {
		if b := run(seed, catchUp(), nil).Breach; b != nil {
			var trace bytes.Buffer
			run(seed, catchUp(), &trace)
			t.Errorf("seed %d: %s\n%s", seed, b, lastLines(trace.String()))
		}
	}
}

// catchUpMutant is the prefix of mutants that only show in jobs that catch up.
const catchUpMutant = "catch up: "

func catchUpMutants() []mutant {
	return []mutant{
		{catchUpMutant + "never", "what was missed while nobody was there begins late", []change{without("protocol.begin", "b.catchUp()")}},
		{catchUpMutant + "beside others", "while another server is there nothing counts as missed", []change{in("protocol.State.unattendedUntil", "slices.ContainsFunc(v.Members, v.attends)", "false")}},
		{catchUpMutant + "forgotten", "who gets an item knows up to when nobody was there", []change{without("protocol.Assignment.fold", "a.Unattended = max(_, _)")}},
		{catchUpMutant + "paused", "a paused job catches nothing up", []change{in("protocol.beginning.catchUp", "s.paused()", "false")}},
		{catchUpMutant + "disabled item", "a disabled item catches nothing up", []change{in("protocol.beginning.catchUp", "s.view.item(i).Disabled", "false")}},
		{catchUpMutant + "at once", "what is due does not begin before what was missed", []change{
			without("protocol.begin", "if s.recalls() {}"),
		}},
		{catchUpMutant + "backfill never", "what an operator asks for late begins", []change{without("protocol.begin", "b.backfills()")}},
		{catchUpMutant + "backfill twice", "an instant that begins leaves those that wait", []change{without("jobtree.transaction.begin", "t.backfilled(_)")}},
		{catchUpMutant + "backfill not owned", "only the owner of an item begins what waits for it", []change{in("protocol.beginning.backfills", "s.mine(_)", "true")}},
		{catchUpMutant + "backfill paused", "a paused job begins nothing of a backfill", []change{in("protocol.beginning.backfills", "s.paused()", "false")}},
		{catchUpMutant + "backfill before a retry", "what waits begins after the next attempts of the run before", []change{in("protocol.beginning.backfills", "b.awaits(_)", "false")}},
		{catchUpMutant + "too early", "nobody begins what has not come by its own clock", []change{in("protocol.State.missedUntil", "min(until, s.backlog.catchUp.passed)", "until")}},
	}
}
