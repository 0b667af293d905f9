package check_test

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/test/interop/check"
)

// Sessions of the members in these tests.
const (
	ofA = iota + 1
	ofB
	ofW
	ofFrozen
)

func node(at, session int64, path, data string) check.Change {
	return check.Change{At: at, Session: session, Path: path, Data: data}
}

func gone(at int64, path string) check.Change { return check.Change{At: at, Path: path, Gone: true} }

func owner(at, assigner int64, member string) check.Change {
	return node(at, assigner, "sharding/0/instance", member+"@-@1")
}

func leader(at int64, member string) check.Change {
	return node(at, 0, "leader/election/instance", member+"@-@1")
}

func javaLine(member, word string, at, instant int64) check.JavaLine {
	return check.JavaLine{Word: word, Member: member, At: at, Instant: instant}
}

// members existed from the beginning.
var members = []check.Change{
	node(100, ofA, "instances/a@-@1", ""), node(100, ofB, "instances/b@-@1", ""), node(100, ofW, "instances/w@-@1", ""),
}

// excuseTest is a case for item 0, which runs every ten seconds. Its member may be hit at
// 20,000 ms. The case ends at the instant after that.
type excuseTest struct {
	name string
	rule check.Rule
	hit  string
	also int64
	log  []check.Change
	java []check.JavaLine
	runs []check.Run
	gaps []check.Gap
	want check.Reason // empty if it is a fault
}

func (tt excuseTest) check() check.Report {
	return check.Runs(check.Input{
		Spans: []check.Span{
			{Role: "java", Event: "steady", From: 10_000, Every: 10_000, Items: 1},
			{Role: "java", Event: "hit", From: 20_000, Every: 10_000, Also: tt.also, Items: 1, Rule: tt.rule, Hit: tt.hit},
		},
		To: 30_000, Runs: tt.runs, Gaps: tt.gaps, Session: 3000, Frozen: []check.Frozen{{Member: "f", From: 20_100, To: 26_000}, {Member: "wf", From: 20_100, To: 26_000}},
		JavaLines: append([]check.JavaLine{javaLine("a", "joined", 150, 0), javaLine("b", "joined", 150, 0)}, tt.java...),
		Log:       slices.Concat(members, tt.log),
	})
}

func (tt excuseTest) play(t *testing.T) {
	t.Parallel()
	r := tt.check()
	switch {
	case tt.want == "" && len(r.Findings) == 0:
		t.Errorf("that was excused: %v", r.Excuses)
	case tt.want != "" && (len(r.Findings) != 0 || len(r.Excuses) == 0 || r.Excuses[0].Reason != tt.want || r.Excuses[0].Evidence == ""):
		t.Errorf("excused: %v, found: %v, not %q", r.Excuses, r.Findings, tt.want)
	}
}

// TestMissed has an item that ran at 10,000 and at 30,000, but not at 20,000. Each
// excused case is followed by one that is nearly the same but not excused.
func TestMissed(t *testing.T) {
	t.Parallel()
	tests := []excuseTest{
		{name: "killed, and its session goes on", rule: check.Kill, hit: "a", log: []check.Change{owner(200, ofA, "a"), gone(23_100, "instances/a@-@1")}, want: check.Away},
		{name: "another one was killed", rule: check.Kill, hit: "b", log: []check.Change{owner(200, ofA, "a"), gone(23_100, "instances/a@-@1")}},
		{name: "killed, and its session does not end", rule: check.Kill, hit: "a", log: []check.Change{owner(200, ofA, "a"), gone(36_000, "instances/a@-@1")}},
		{name: "killed long before, and nobody led", rule: check.Kill, hit: "a",
			log: []check.Change{owner(200, ofA, "a"), gone(20_001, "instances/a@-@1"), gone(20_001, "leader/election/instance")}, want: check.Away},
		{name: "left in the instant", rule: check.Leave, hit: "a", log: []check.Change{owner(200, ofA, "a"), gone(20_100, "instances/a@-@1")}, want: check.Away},
		{name: "left after the next one", rule: check.Leave, hit: "a", log: []check.Change{owner(200, ofA, "a"), gone(30_001, "instances/a@-@1")}},
		{name: "left out by Quartz", log: []check.Change{owner(200, ofA, "a")}, java: []check.JavaLine{javaLine("a", "misfired", 20_300, 20_000)}, want: check.Misfired},
		{name: "left out with the one before", log: []check.Change{owner(200, ofA, "a")}, java: []check.JavaLine{javaLine("a", "misfired", 20_300, 18_000)}, want: check.Misfired},
		{name: "left out with all for too long", log: []check.Change{owner(200, ofA, "a")}, java: []check.JavaLine{javaLine("a", "misfired", 28_300, 18_000)}},
		{name: "another instant was", log: []check.Change{owner(200, ofA, "a")}, java: []check.JavaLine{javaLine("a", "misfired", 19_900, 10_000)}},
		{name: "left out by another's Quartz", log: []check.Change{owner(200, ofA, "a")}, java: []check.JavaLine{javaLine("b", "misfired", 20_300, 20_000)}},
		{name: "assigned before it had a scheduler", log: []check.Change{owner(19_900, ofA, "b")}, java: []check.JavaLine{javaLine("b", "joined", 20_400, 0)}, want: check.Unready},
		{name: "its scheduler had fired", log: []check.Change{owner(19_000, ofA, "b")}, java: []check.JavaLine{javaLine("b", "fired", 19_900, 19_000), javaLine("b", "joined", 20_400, 0)}},
		{name: "it joined much later", log: []check.Change{owner(19_900, ofA, "b")}, java: []check.JavaLine{javaLine("b", "joined", 29_000, 0)}},
		{name: "another cron just now", also: 5000, log: []check.Change{owner(200, ofA, "a"), node(18_000, 0, "config", "{}")}, want: check.Recron},
		{name: "another cron before the instant before", also: 5000, log: []check.Change{owner(200, ofA, "a"), node(9_000, 0, "config", "{}")}},
		{name: "by its cache", log: []check.Change{owner(200, ofA, "w"), owner(19_800, ofA, "b")}, java: []check.JavaLine{javaLine("b", "fired", 20_010, 20_000)}, want: check.Cached},
		{name: "assigned by one of ours", log: []check.Change{owner(200, ofA, "w"), owner(19_800, ofW, "b")}, java: []check.JavaLine{javaLine("b", "fired", 20_010, 20_000)}},
		{name: "its cache had the time", log: []check.Change{owner(200, ofA, "w"), owner(19_400, ofA, "b")}, java: []check.JavaLine{javaLine("b", "fired", 20_010, 20_000)}},
		{name: "its owner was written anew", log: []check.Change{owner(200, ofA, "a"), gone(20_100, "sharding/0/instance"), owner(20_110, ofA, "a")}, java: []check.JavaLine{javaLine("a", "fired", 20_060, 20_000)}, want: check.Cached},
		{name: "its owner was written anew by one of ours", log: []check.Change{owner(200, ofA, "a"), gone(20_100, "sharding/0/instance"), owner(20_110, ofW, "a")}, java: []check.JavaLine{javaLine("a", "fired", 20_060, 20_000)}},
		{name: "its owner was written anew long after", log: []check.Change{owner(200, ofA, "a"), gone(20_600, "sharding/0/instance"), owner(20_610, ofA, "a")}, java: []check.JavaLine{javaLine("a", "fired", 20_060, 20_000)}},
		{name: "assigned after others had begun", log: []check.Change{owner(200, ofA, "a"), node(20_005, ofA, "leader/sharding/necessary", ""), owner(20_100, ofA, "w")},
			java: []check.JavaLine{javaLine("a", "fired", 20_004, 20_000)}, want: check.AssignedLate},
		{name: "asked for in time", log: []check.Change{owner(200, ofA, "a"), node(19_800, ofA, "leader/sharding/necessary", ""), owner(20_100, ofA, "w")},
			java: []check.JavaLine{javaLine("a", "fired", 20_004, 20_000)}},
		{name: "between two of ours", log: []check.Change{owner(200, ofA, "w2"), node(20_005, ofA, "leader/sharding/necessary", ""), owner(20_100, ofA, "w")}},
		{name: "late, and ours has assigned", log: []check.Change{owner(200, ofA, "a"), owner(20_400, ofW, "w")}, java: []check.JavaLine{javaLine("a", "fired", 20_430, 20_000)},
			gaps: []check.Gap{{Item: 0, First: 20_000, Last: 20_000}}, want: check.Late},
		{name: "late, and no row says so", log: []check.Change{owner(200, ofA, "a"), owner(20_400, ofW, "w")}, java: []check.JavaLine{javaLine("a", "fired", 20_430, 20_000)}},
		{name: "it had looked when ours assigned", log: []check.Change{owner(200, ofA, "a"), node(20_020, ofA, "sharding/0/running", ""), owner(20_400, ofW, "w")},
			java: []check.JavaLine{javaLine("a", "fired", 20_010, 20_000)}, gaps: []check.Gap{{Item: 0, First: 20_000, Last: 20_000}}},
		{name: "ours assigned without waiting", log: []check.Change{owner(200, ofA, "a"), owner(20_020, ofW, "w")}, java: []check.JavaLine{javaLine("a", "fired", 20_430, 20_000)},
			gaps: []check.Gap{{Item: 0, First: 20_000, Last: 20_000}}},
		{name: "not assigned", log: []check.Change{owner(200, ofA, "w"), leader(200, "a"), node(19_000, ofB, "leader/sharding/necessary", "")},
			gaps: []check.Gap{{Item: 0, First: 20_000, Last: 20_000}}, want: check.Unassigned},
		{name: "not assigned, and no row says so", log: []check.Change{owner(200, ofA, "w"), leader(200, "a"), node(19_000, ofB, "leader/sharding/necessary", "")}},
		{name: "not assigned by one of ours", log: []check.Change{owner(200, ofA, "w"), leader(200, "w"), node(19_000, ofB, "leader/sharding/necessary", "")},
			gaps: []check.Gap{{Item: 0, First: 20_000, Last: 20_000}}},
		{name: "assigned in time", log: []check.Change{owner(200, ofA, "w"), leader(200, "a"), node(19_000, ofB, "leader/sharding/necessary", ""), gone(20_100, "leader/sharding/necessary")},
			gaps: []check.Gap{{Item: 0, First: 20_000, Last: 20_000}}},
		{name: "still running", log: []check.Change{owner(200, ofA, "a"), node(19_000, ofA, "sharding/0/running", "")}, java: []check.JavaLine{javaLine("a", "fired", 20_004, 20_000)}, want: check.Running},
		{name: "not running any more", log: []check.Change{owner(200, ofA, "a"), node(19_000, ofA, "sharding/0/running", ""), gone(19_990, "sharding/0/running")},
			java: []check.JavaLine{javaLine("a", "fired", 20_004, 20_000)}},
		{name: "taken over", log: []check.Change{owner(200, ofA, "a"), node(19_000, ofB, "sharding/0/failover", "b@-@1")}, java: []check.JavaLine{javaLine("a", "fired", 20_004, 20_000)}, want: check.Taken},
		{name: "taken over by one of ours", log: []check.Change{owner(200, ofA, "a"), node(19_000, ofW, "sharding/0/failover", "w@-@1")}, java: []check.JavaLine{javaLine("a", "fired", 20_004, 20_000)}},
	}
	for _, tt := range tests {
		tt.runs = append(tt.runs, ran(0, 10, "a"), ran(0, 30, "a"))
		t.Run(tt.name, tt.play)
	}
}

// TestMissedWithoutRow has a member of ours that owns the item now, so it must have a row
// for the instant.
func TestMissedWithoutRow(t *testing.T) {
	t.Parallel()
	moved := []check.Change{owner(200, ofA, "a"), gone(23_100, "instances/a@-@1"), owner(23_200, ofW, "w")}
	for _, tt := range []excuseTest{
		{name: "killed", rule: check.Kill, hit: "a", log: moved, want: check.Away},
		{name: "left out by Quartz", log: moved, java: []check.JavaLine{javaLine("a", "misfired", 20_300, 20_000)}, want: check.Misfired},
	} {
		tt.runs = []check.Run{ran(0, 10, "a"), ran(0, 30, "w")}
		without := tt
		without.want = ""
		t.Run(tt.name+", without a row", without.play)
		tt.gaps = []check.Gap{{Item: 0, First: 20_000, Last: 20_000}}
		t.Run(tt.name+", with a row", tt.play)
	}
}

// second returns a run of 100 ms for the instant 20,000.
func second(member string, instant, start int64) check.Run {
	return check.Run{Item: 0, Member: member, Instant: instant, Start: start, End: start + 100, Java: member[0] != 'w'}
}

// TestTwice has an item that ran twice, or began while it ran.
func TestTwice(t *testing.T) {
	t.Parallel()
	moved := []check.Change{owner(200, ofA, "w"), owner(20_150, ofA, "b")}
	tests := []excuseTest{
		{name: "assigned anew after it had run", log: moved, runs: []check.Run{second("w", 20_000, 20_010), second("b", 20_000, 20_200)}, want: check.AssignedLate},
		{name: "and run by one of ours", log: []check.Change{owner(200, ofA, "a"), owner(20_150, ofA, "w")}, runs: []check.Run{second("a", 20_000, 20_010), second("w", 20_000, 20_200)}},
		{name: "assigned by one of ours", log: []check.Change{owner(200, ofA, "w"), owner(20_150, ofW, "b")}, runs: []check.Run{second("w", 20_000, 20_010), second("b", 20_000, 20_200)}},
		{name: "late, and ours has assigned", log: []check.Change{owner(200, ofA, "a"), owner(20_150, ofW, "b")}, runs: []check.Run{second("a", 20_000, 20_010), second("b", 20_000, 20_200)}, want: check.Late},
		{name: "it had looked when ours assigned", log: []check.Change{owner(200, ofA, "a"), node(20_100, ofB, "sharding/0/running", ""), owner(20_150, ofW, "b")},
			runs: []check.Run{second("a", 20_000, 20_010), second("b", 20_000, 20_200)}},
		{name: "late, and ours assigned what still ran", log: []check.Change{owner(200, ofA, "a"), owner(20_105, ofW, "b")}, runs: []check.Run{second("a", 20_000, 20_010), second("b", 20_000, 20_200)}},
		{name: "not assigned at all", log: moved[:1], runs: []check.Run{second("w", 20_000, 20_010), second("b", 20_000, 20_200)}},
		{name: "by its cache", log: []check.Change{owner(200, ofA, "a"), owner(19_900, ofW, "w")}, runs: []check.Run{second("w", 20_000, 20_010), second("a", 20_000, 20_050)}, want: check.Cached},
		{name: "by its cache, at once", log: []check.Change{owner(200, ofA, "a"), owner(19_900, ofW, "w")}, runs: []check.Run{second("a", 20_000, 20_010), second("w", 20_000, 20_050)}, want: check.Cached},
		{name: "its cache had the time", log: []check.Change{owner(200, ofA, "a"), owner(19_400, ofW, "w")}, runs: []check.Run{second("w", 20_000, 20_010), second("a", 20_000, 20_050)}},
		{name: "the item of another one", log: []check.Change{owner(200, ofA, "b"), owner(19_900, ofW, "w")}, runs: []check.Run{second("w", 20_000, 20_010), second("a", 20_000, 20_050)}},
		{name: "one of ours by what it remembers", log: []check.Change{owner(200, ofA, "w"), owner(19_900, ofW, "b")}, runs: []check.Run{second("b", 20_000, 20_010), second("w", 20_000, 20_200)}},
		{name: "a round more", log: []check.Change{owner(200, ofA, "a"), node(19_500, ofA, "sharding/0/failover", "a@-@1")}, runs: []check.Run{second("w", 20_000, 20_010), second("a", 0, 20_200)}, want: check.Round},
		{name: "a round more, of an instant", log: []check.Change{owner(200, ofA, "a"), node(19_500, ofA, "sharding/0/failover", "a@-@1")}, runs: []check.Run{second("w", 20_000, 20_010), second("a", 20_000, 20_200)}},
		{name: "a round more, and nothing was taken over", log: []check.Change{owner(200, ofA, "a")}, runs: []check.Run{second("w", 20_000, 20_010), second("a", 0, 20_200)}},
		{name: "a round more, long after", log: []check.Change{owner(200, ofA, "a"), node(9_000, ofA, "sharding/0/failover", "a@-@1")}, runs: []check.Run{second("w", 20_000, 20_010), second("a", 0, 20_200)}},
		{name: "a frozen one of ElasticJob's wakes", runs: []check.Run{second("w", 20_000, 23_000), second("f", 20_000, 26_500)}, want: check.Woke},
		{name: "long after", runs: []check.Run{second("w", 20_000, 23_000), second("f", 20_000, 28_500)}},
		{name: "a frozen one of ours wakes", runs: []check.Run{{Member: "wf", Instant: 20_000, Start: 20_010, End: 26_100}, second("b", 20_000, 23_000)}, want: check.Woke},
		{name: "and its guest says so only then", log: []check.Change{node(100, ofFrozen, "instances/wf@-@1", ""), node(20_005, ofFrozen, "sharding/0/running", "")}, runs: []check.Run{second("b", 20_000, 23_000), second("wf", 20_000, 26_010)}, want: check.Woke},
		{name: "and begins only then", runs: []check.Run{second("b", 20_000, 23_000), second("wf", 20_000, 26_100)}},
	}
	for _, tt := range tests {
		tt.runs = append(tt.runs, ran(0, 10, "a"), ran(0, 30, "a"))
		t.Run(tt.name, tt.play)
	}
}

// TestExcusesAreBounded checks that one reason cannot excuse most items of a steady span.
func TestExcusesAreBounded(t *testing.T) {
	t.Parallel()
	in := check.Input{Spans: []check.Span{{Role: "java", Event: "steady", From: 1000, Every: 1000, Items: 1}}, To: 10_000, Log: slices.Concat(members, []check.Change{owner(200, ofA, "a")})}
	for s := int64(1); s <= 10; s++ {
		if s <= 5 {
			in.JavaLines = append(in.JavaLines, javaLine("a", "misfired", s*1000+5, s*1000))
		} else {
			in.Runs = append(in.Runs, ran(0, s, "a"))
		}
	}
	if r := check.Runs(in); len(r.Findings) != 0 || len(r.Excuses) != 5 {
		t.Errorf("five of ten instants that Quartz left out: excused %v, found %v", r.Excuses, r.Findings)
	}
	in.Runs = in.Runs[1:]
	in.JavaLines = append(in.JavaLines, javaLine("a", "misfired", 6005, 6000))
	if r := check.Runs(in); len(r.Findings) != 1 {
		t.Errorf("six of ten instants: excused %v, found %v", r.Excuses, r.Findings)
	}
}
