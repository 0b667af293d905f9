package sim

import (
	"bytes"
	"strings"
	"testing"
)

// The operator requests runs with parameters, during the faults and after them.
func TestRunsThatWereAskedFor(t *testing.T) {
	t.Parallel()
	var traces bytes.Buffer
	for seed := range uint64(10) {
		var trace bytes.Buffer
		w := newWorld(seed, drawn(seed), profiles()[seed%5], &trace)
		w.setup()
		w.populate()
		w.disturb()
		w.nextAsked()
		if b := w.play().Breach; b != nil {
			t.Errorf("seed %d: %s\n%s", seed, b, lastLines(trace.String()))
		}
		traces.Write(trace.Bytes())
	}
	again := 0
	for line := range strings.Lines(traces.String()) {
		if strings.Contains(line, "guest of item") && strings.Contains(line, "run t-") && strings.Contains(line, "attempt 2 fence") {
			again++
		}
	}
	if again == 0 {
		t.Error("no run that was asked for has a second attempt: choose other seeds")
	}
}

// askedMutants lose the parameter or the first instant of a request.
func askedMutants() []mutant {
	return []mutant{
		{"asked: of a neighbour", "runs that differ in nothing but what was asked for are written apart", []change{in("spelling.entryJSON.joins", "e.entry(next.Item) == next", "e.entry(next.Item).Same(next)")}},
		{"asked: once", "the next attempt of a run has its parameter", []change{in("protocol.RunsData.retry", "e.Begun = 0", `e.Begun, e.Param = 0, ""`)}},
		{"asked: not taken", "who takes a run gets its parameter", []change{in("protocol.facts.taking", "e.Cause, e.Begun = Failover, s.now", `e.Cause, e.Begun, e.Param = Failover, s.now, ""`)}},
		{"asked: first unread", "the instant of the first attempt is read", []change{in("spelling.entryJSON.plain", "e.First = p.number()", "_ = p.number()")}},
	}
}
