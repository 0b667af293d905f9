package judge_test

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/test/interop/judge"
)

// Sessions of the members in these tests.
const (
	ofA = iota + 1
	ofB
	ofW
)

func node(at, session int64, path, data string) judge.Change {
	return judge.Change{At: at, Session: session, Path: path, Data: data}
}

func gone(at int64, path string) judge.Change { return judge.Change{At: at, Path: path, Gone: true} }

func owner(at, dealer int64, member string) judge.Change {
	return node(at, dealer, "sharding/0/instance", member+"@-@1")
}

func leader(at int64, member string) judge.Change {
	return node(at, 0, "leader/election/instance", member+"@-@1")
}

func told(member, word string, at, instant int64) judge.Told {
	return judge.Told{Word: word, Member: member, At: at, Instant: instant}
}

// members have been there all the time.
var members = []judge.Change{
	node(100, ofA, "instances/a@-@1", ""), node(100, ofB, "instances/b@-@1", ""), node(100, ofW, "instances/w@-@1", ""),
}

// excuseTest is a story of item 0, which runs every ten seconds, and to whose
// member something may happen at 20,000 ms. It is told until the instant after.
type excuseTest struct {
	name string
	rule judge.Rule
	hit  string
	also int64
	log  []judge.Change
	told []judge.Told
	runs []judge.Run
	gaps []judge.Gap
	want judge.Reason // empty: it is a fault
}

func (tt excuseTest) judge() judge.Report {
	return judge.Judge(judge.Input{
		Spans: []judge.Span{
			{Role: "java", Event: "steady", From: 10_000, Every: 10_000, Items: 1},
			{Role: "java", Event: "hit", From: 20_000, Every: 10_000, Also: tt.also, Items: 1, Rule: tt.rule, Hit: tt.hit},
		},
		To: 30_000, Runs: tt.runs, Gaps: tt.gaps, Session: 3000, Frozen: []judge.Frozen{{Member: "f", From: 20_100, To: 26_000}, {Member: "wf", From: 20_100, To: 26_000}},
		Told: append([]judge.Told{told("a", "joined", 150, 0), told("b", "joined", 150, 0)}, tt.told...),
		Log:  slices.Concat(members, tt.log),
	})
}

func (tt excuseTest) play(t *testing.T) {
	t.Parallel()
	r := tt.judge()
	switch {
	case tt.want == "" && len(r.Findings) == 0:
		t.Errorf("that was excused: %v", r.Excuses)
	case tt.want != "" && (len(r.Findings) != 0 || len(r.Excuses) == 0 || r.Excuses[0].Reason != tt.want || r.Excuses[0].Evidence == ""):
		t.Errorf("excused: %v, found: %v, not %q", r.Excuses, r.Findings, tt.want)
	}
}

// TestMissed: an item that ran at 10,000 and at 30,000 did not at 20,000. Behind
// each story that excuses it stands one that nearly does.
func TestMissed(t *testing.T) {
	t.Parallel()
	tests := []excuseTest{
		{name: "killed, and its session goes on", rule: judge.Kill, hit: "a", log: []judge.Change{owner(200, ofA, "a"), gone(23_100, "instances/a@-@1")}, want: judge.Away},
		{name: "another one was killed", rule: judge.Kill, hit: "b", log: []judge.Change{owner(200, ofA, "a"), gone(23_100, "instances/a@-@1")}},
		{name: "killed, and its session does not end", rule: judge.Kill, hit: "a", log: []judge.Change{owner(200, ofA, "a"), gone(36_000, "instances/a@-@1")}},
		{name: "killed long before, and nobody led", rule: judge.Kill, hit: "a",
			log: []judge.Change{owner(200, ofA, "a"), gone(20_001, "instances/a@-@1"), gone(20_001, "leader/election/instance")}, want: judge.Away},
		{name: "left in the instant", rule: judge.Leave, hit: "a", log: []judge.Change{owner(200, ofA, "a"), gone(20_100, "instances/a@-@1")}, want: judge.Away},
		{name: "left after the next one", rule: judge.Leave, hit: "a", log: []judge.Change{owner(200, ofA, "a"), gone(30_001, "instances/a@-@1")}},
		{name: "left out by Quartz", log: []judge.Change{owner(200, ofA, "a")}, told: []judge.Told{told("a", "misfired", 20_300, 20_000)}, want: judge.Misfired},
		{name: "left out with the one before", log: []judge.Change{owner(200, ofA, "a")}, told: []judge.Told{told("a", "misfired", 20_300, 18_000)}, want: judge.Misfired},
		{name: "left out with all for too long", log: []judge.Change{owner(200, ofA, "a")}, told: []judge.Told{told("a", "misfired", 28_300, 18_000)}},
		{name: "another instant was", log: []judge.Change{owner(200, ofA, "a")}, told: []judge.Told{told("a", "misfired", 19_900, 10_000)}},
		{name: "left out by another's Quartz", log: []judge.Change{owner(200, ofA, "a")}, told: []judge.Told{told("b", "misfired", 20_300, 20_000)}},
		{name: "dealt before it had a scheduler", log: []judge.Change{owner(19_900, ofA, "b")}, told: []judge.Told{told("b", "joined", 20_400, 0)}, want: judge.Unready},
		{name: "its scheduler had fired", log: []judge.Change{owner(19_000, ofA, "b")}, told: []judge.Told{told("b", "fired", 19_900, 19_000), told("b", "joined", 20_400, 0)}},
		{name: "it joined much later", log: []judge.Change{owner(19_900, ofA, "b")}, told: []judge.Told{told("b", "joined", 29_000, 0)}},
		{name: "another cron just now", also: 5000, log: []judge.Change{owner(200, ofA, "a"), node(18_000, 0, "config", "{}")}, want: judge.Recron},
		{name: "another cron before the instant before", also: 5000, log: []judge.Change{owner(200, ofA, "a"), node(9_000, 0, "config", "{}")}},
		{name: "by its cache", log: []judge.Change{owner(200, ofA, "w"), owner(19_800, ofA, "b")}, told: []judge.Told{told("b", "fired", 20_010, 20_000)}, want: judge.Cached},
		{name: "dealt by one of ours", log: []judge.Change{owner(200, ofA, "w"), owner(19_800, ofW, "b")}, told: []judge.Told{told("b", "fired", 20_010, 20_000)}},
		{name: "its cache had the time", log: []judge.Change{owner(200, ofA, "w"), owner(19_400, ofA, "b")}, told: []judge.Told{told("b", "fired", 20_010, 20_000)}},
		{name: "its owner was written anew", log: []judge.Change{owner(200, ofA, "a"), gone(20_100, "sharding/0/instance"), owner(20_110, ofA, "a")}, told: []judge.Told{told("a", "fired", 20_060, 20_000)}, want: judge.Cached},
		{name: "its owner was written anew by one of ours", log: []judge.Change{owner(200, ofA, "a"), gone(20_100, "sharding/0/instance"), owner(20_110, ofW, "a")}, told: []judge.Told{told("a", "fired", 20_060, 20_000)}},
		{name: "its owner was written anew long after", log: []judge.Change{owner(200, ofA, "a"), gone(20_600, "sharding/0/instance"), owner(20_610, ofA, "a")}, told: []judge.Told{told("a", "fired", 20_060, 20_000)}},
		{name: "dealt after others had begun", log: []judge.Change{owner(200, ofA, "a"), node(20_005, ofA, "leader/sharding/necessary", ""), owner(20_100, ofA, "w")},
			told: []judge.Told{told("a", "fired", 20_004, 20_000)}, want: judge.DealtLate},
		{name: "asked for in time", log: []judge.Change{owner(200, ofA, "a"), node(19_800, ofA, "leader/sharding/necessary", ""), owner(20_100, ofA, "w")},
			told: []judge.Told{told("a", "fired", 20_004, 20_000)}},
		{name: "between two of ours", log: []judge.Change{owner(200, ofA, "w2"), node(20_005, ofA, "leader/sharding/necessary", ""), owner(20_100, ofA, "w")}},
		{name: "late, and ours has dealt", log: []judge.Change{owner(200, ofA, "a"), owner(20_400, ofW, "w")}, told: []judge.Told{told("a", "fired", 20_430, 20_000)},
			gaps: []judge.Gap{{Item: 0, First: 20_000, Last: 20_000}}, want: judge.Late},
		{name: "late, and no row says so", log: []judge.Change{owner(200, ofA, "a"), owner(20_400, ofW, "w")}, told: []judge.Told{told("a", "fired", 20_430, 20_000)}},
		{name: "it had looked when ours dealt", log: []judge.Change{owner(200, ofA, "a"), node(20_020, ofA, "sharding/0/running", ""), owner(20_400, ofW, "w")},
			told: []judge.Told{told("a", "fired", 20_010, 20_000)}, gaps: []judge.Gap{{Item: 0, First: 20_000, Last: 20_000}}},
		{name: "ours dealt without waiting", log: []judge.Change{owner(200, ofA, "a"), owner(20_020, ofW, "w")}, told: []judge.Told{told("a", "fired", 20_430, 20_000)},
			gaps: []judge.Gap{{Item: 0, First: 20_000, Last: 20_000}}},
		{name: "not dealt", log: []judge.Change{owner(200, ofA, "w"), leader(200, "a"), node(19_000, ofB, "leader/sharding/necessary", "")},
			gaps: []judge.Gap{{Item: 0, First: 20_000, Last: 20_000}}, want: judge.Undealt},
		{name: "not dealt, and no row says so", log: []judge.Change{owner(200, ofA, "w"), leader(200, "a"), node(19_000, ofB, "leader/sharding/necessary", "")}},
		{name: "not dealt by one of ours", log: []judge.Change{owner(200, ofA, "w"), leader(200, "w"), node(19_000, ofB, "leader/sharding/necessary", "")},
			gaps: []judge.Gap{{Item: 0, First: 20_000, Last: 20_000}}},
		{name: "dealt in time", log: []judge.Change{owner(200, ofA, "w"), leader(200, "a"), node(19_000, ofB, "leader/sharding/necessary", ""), gone(20_100, "leader/sharding/necessary")},
			gaps: []judge.Gap{{Item: 0, First: 20_000, Last: 20_000}}},
		{name: "still running", log: []judge.Change{owner(200, ofA, "a"), node(19_000, ofA, "sharding/0/running", "")}, told: []judge.Told{told("a", "fired", 20_004, 20_000)}, want: judge.Running},
		{name: "not running any more", log: []judge.Change{owner(200, ofA, "a"), node(19_000, ofA, "sharding/0/running", ""), gone(19_990, "sharding/0/running")},
			told: []judge.Told{told("a", "fired", 20_004, 20_000)}},
		{name: "taken over", log: []judge.Change{owner(200, ofA, "a"), node(19_000, ofB, "sharding/0/failover", "b@-@1")}, told: []judge.Told{told("a", "fired", 20_004, 20_000)}, want: judge.Taken},
		{name: "taken over by one of ours", log: []judge.Change{owner(200, ofA, "a"), node(19_000, ofW, "sharding/0/failover", "w@-@1")}, told: []judge.Told{told("a", "fired", 20_004, 20_000)}},
	}
	for _, tt := range tests {
		tt.runs = append(tt.runs, ran(0, 10, "a"), ran(0, 30, "a"))
		t.Run(tt.name, tt.play)
	}
}

// TestMissedWithoutRow: ours has the item now, so it must know of the instant.
func TestMissedWithoutRow(t *testing.T) {
	t.Parallel()
	moved := []judge.Change{owner(200, ofA, "a"), gone(23_100, "instances/a@-@1"), owner(23_200, ofW, "w")}
	for _, tt := range []excuseTest{
		{name: "killed", rule: judge.Kill, hit: "a", log: moved, want: judge.Away},
		{name: "left out by Quartz", log: moved, told: []judge.Told{told("a", "misfired", 20_300, 20_000)}, want: judge.Misfired},
	} {
		tt.runs = []judge.Run{ran(0, 10, "a"), ran(0, 30, "w")}
		without := tt
		without.want = ""
		t.Run(tt.name+", without a row", without.play)
		tt.gaps = []judge.Gap{{Item: 0, First: 20_000, Last: 20_000}}
		t.Run(tt.name+", with a row", tt.play)
	}
}

// second is a run of the instant 20,000, of 100 ms.
func second(member string, instant, start int64) judge.Run {
	return judge.Run{Item: 0, Member: member, Instant: instant, Start: start, End: start + 100, Java: member[0] != 'w'}
}

// TestTwice: an item ran twice, or was begun while it ran.
func TestTwice(t *testing.T) {
	t.Parallel()
	moved := []judge.Change{owner(200, ofA, "w"), owner(20_150, ofA, "b")}
	tests := []excuseTest{
		{name: "dealt anew after it had run", log: moved, runs: []judge.Run{second("w", 20_000, 20_010), second("b", 20_000, 20_200)}, want: judge.DealtLate},
		{name: "and run by one of ours", log: []judge.Change{owner(200, ofA, "a"), owner(20_150, ofA, "w")}, runs: []judge.Run{second("a", 20_000, 20_010), second("w", 20_000, 20_200)}},
		{name: "dealt by one of ours", log: []judge.Change{owner(200, ofA, "w"), owner(20_150, ofW, "b")}, runs: []judge.Run{second("w", 20_000, 20_010), second("b", 20_000, 20_200)}},
		{name: "late, and ours has dealt", log: []judge.Change{owner(200, ofA, "a"), owner(20_150, ofW, "b")}, runs: []judge.Run{second("a", 20_000, 20_010), second("b", 20_000, 20_200)}, want: judge.Late},
		{name: "it had looked when ours dealt", log: []judge.Change{owner(200, ofA, "a"), node(20_100, ofB, "sharding/0/running", ""), owner(20_150, ofW, "b")},
			runs: []judge.Run{second("a", 20_000, 20_010), second("b", 20_000, 20_200)}},
		{name: "late, and ours dealt what still ran", log: []judge.Change{owner(200, ofA, "a"), owner(20_105, ofW, "b")}, runs: []judge.Run{second("a", 20_000, 20_010), second("b", 20_000, 20_200)}},
		{name: "not dealt at all", log: moved[:1], runs: []judge.Run{second("w", 20_000, 20_010), second("b", 20_000, 20_200)}},
		{name: "by its cache", log: []judge.Change{owner(200, ofA, "a"), owner(19_900, ofW, "w")}, runs: []judge.Run{second("w", 20_000, 20_010), second("a", 20_000, 20_050)}, want: judge.Cached},
		{name: "by its cache, at once", log: []judge.Change{owner(200, ofA, "a"), owner(19_900, ofW, "w")}, runs: []judge.Run{second("a", 20_000, 20_010), second("w", 20_000, 20_050)}, want: judge.Cached},
		{name: "its cache had the time", log: []judge.Change{owner(200, ofA, "a"), owner(19_400, ofW, "w")}, runs: []judge.Run{second("w", 20_000, 20_010), second("a", 20_000, 20_050)}},
		{name: "the item of another one", log: []judge.Change{owner(200, ofA, "b"), owner(19_900, ofW, "w")}, runs: []judge.Run{second("w", 20_000, 20_010), second("a", 20_000, 20_050)}},
		{name: "one of ours by what it remembers", log: []judge.Change{owner(200, ofA, "w"), owner(19_900, ofW, "b")}, runs: []judge.Run{second("b", 20_000, 20_010), second("w", 20_000, 20_200)}},
		{name: "a round more", log: []judge.Change{owner(200, ofA, "a"), node(19_500, ofA, "sharding/0/failover", "a@-@1")}, runs: []judge.Run{second("w", 20_000, 20_010), second("a", 0, 20_200)}, want: judge.Round},
		{name: "a round more, of an instant", log: []judge.Change{owner(200, ofA, "a"), node(19_500, ofA, "sharding/0/failover", "a@-@1")}, runs: []judge.Run{second("w", 20_000, 20_010), second("a", 20_000, 20_200)}},
		{name: "a round more, and nothing was taken over", log: []judge.Change{owner(200, ofA, "a")}, runs: []judge.Run{second("w", 20_000, 20_010), second("a", 0, 20_200)}},
		{name: "a round more, long after", log: []judge.Change{owner(200, ofA, "a"), node(9_000, ofA, "sharding/0/failover", "a@-@1")}, runs: []judge.Run{second("w", 20_000, 20_010), second("a", 0, 20_200)}},
		{name: "a frozen one of ElasticJob's wakes", runs: []judge.Run{second("w", 20_000, 23_000), second("f", 20_000, 26_500)}, want: judge.Woke},
		{name: "long after", runs: []judge.Run{second("w", 20_000, 23_000), second("f", 20_000, 28_500)}},
		{name: "a frozen one of ours wakes", runs: []judge.Run{{Member: "wf", Instant: 20_000, Start: 20_010, End: 26_100}, second("b", 20_000, 23_000)}, want: judge.Woke},
		{name: "and begins only then", runs: []judge.Run{second("b", 20_000, 23_000), second("wf", 20_000, 26_100)}},
	}
	for _, tt := range tests {
		tt.runs = append(tt.runs, ran(0, 10, "a"), ran(0, 30, "a"))
		t.Run(tt.name, tt.play)
	}
}

// TestExcusesAreBounded: one reason does not excuse most of what is steady.
func TestExcusesAreBounded(t *testing.T) {
	t.Parallel()
	in := judge.Input{Spans: []judge.Span{{Role: "java", Event: "steady", From: 1000, Every: 1000, Items: 1}}, To: 10_000, Log: slices.Concat(members, []judge.Change{owner(200, ofA, "a")})}
	for s := int64(1); s <= 10; s++ {
		if s <= 5 {
			in.Told = append(in.Told, told("a", "misfired", s*1000+5, s*1000))
		} else {
			in.Runs = append(in.Runs, ran(0, s, "a"))
		}
	}
	if r := judge.Judge(in); len(r.Findings) != 0 || len(r.Excuses) != 5 {
		t.Errorf("five of ten instants that Quartz left out: excused %v, found %v", r.Excuses, r.Findings)
	}
	in.Runs = in.Runs[1:]
	in.Told = append(in.Told, told("a", "misfired", 6005, 6000))
	if r := judge.Judge(in); len(r.Findings) != 1 {
		t.Errorf("six of ten instants: excused %v, found %v", r.Excuses, r.Findings)
	}
}
