package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/test/faults/evidence"
	"github.com/wasmjob/wasmjob/test/interop/judge"
)

// ran is a run of 100 ms that starts 5 ms late, by a Java member unless its name
// begins with w.
func ran(item int, second int64, member string) judge.Run {
	r := judge.Run{Item: item, Member: member, Start: second*1000 + 5, End: second*1000 + 105, Java: true}
	if strings.HasPrefix(member, "w") {
		r.Java, r.Instant = false, second*1000
	}
	return r
}

func TestJudge(t *testing.T) {
	t.Parallel()
	steady := judge.Span{Role: "java", Event: "steady", From: 1000, Every: 1000, Items: 1}
	event := func(rule judge.Rule) []judge.Span {
		after := steady
		after.From = 4000
		return []judge.Span{steady, {Role: "java", Event: "hit", From: 2000, Every: 1000, Items: 1, Rule: rule, Hit: "a"}, after}
	}
	joining := func(at int64) []judge.Span {
		s := event(judge.Join)[:2]
		s[1].Joined = at
		return s
	}
	besides := joining(2400)
	besides[1].JavaDeals = true
	late := joining(2600)
	late[1].JavaDeals = true
	unled := event(judge.Leave)[:2]
	unled[1].Led = 3500
	dealt := event(judge.Exact)[:2]
	dealt[1].JavaDeals = true
	overdue := ran(0, 2, "w")
	overdue.Start, overdue.End = 3500, 3600
	long := ran(0, 1, "a")
	long.End = 2505
	dead := ran(0, 2, "a")
	dead.End = 0
	tests := []struct {
		name  string
		in    judge.Input
		want  string // ticks/exact/missed/doubled/faults of each row
		fault string // in the first finding
	}{
		{name: "every tick", in: judge.Input{Spans: []judge.Span{steady}, To: 3000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 2, "w"), ran(0, 3, "a")}}, want: "3/3/0/0/0"},
		{name: "a tick is missing", in: judge.Input{Spans: []judge.Span{steady}, To: 3000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 3, "a")}},
			want: "3/2/1/0/1", fault: "item 0 did not run; before it was a's"},
		{name: "a tick twice", in: judge.Input{Spans: []judge.Span{steady}, To: 1000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 1, "w")}},
			want: "1/0/0/1/2", fault: "item 0 ran 2 times"},
		{name: "two at once", in: judge.Input{Spans: []judge.Span{steady}, To: 2000, Runs: []judge.Run{long, ran(0, 2, "w")}}, want: "2/2/0/0/1", fault: "while a still ran it, for 500 ms"},
		{name: "unless one was frozen", in: judge.Input{Spans: event(judge.Freeze)[:2], To: 2000, Runs: []judge.Run{long, ran(0, 2, "w")}}, want: "1/1/0/0/0 1/1/0/0/0"},
		{name: "late, and right all the same", in: judge.Input{Spans: []judge.Span{steady}, To: 2000, Runs: []judge.Run{ran(0, 1, "a"), overdue}}, want: "2/2/0/0/0"},
		{name: "who leaves may miss the instant", in: judge.Input{Spans: event(judge.Leave), To: 4000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 3, "b"), ran(0, 4, "b")}}, want: "2/2/0/0/0 2/1/1/0/0"},
		{name: "but not the next one", in: judge.Input{Spans: event(judge.Leave), To: 4000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 2, "b"), ran(0, 4, "b")}},
			want: "2/2/0/0/0 2/1/1/0/1", fault: "before it was b's"},
		{name: "unless nobody led by then", in: judge.Input{Spans: unled, To: 4000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 2, "a"), ran(0, 4, "b")}}, want: "1/1/0/0/0 3/2/1/0/0"},
		{name: "nor without a row of ours", in: judge.Input{Spans: event(judge.Leave), To: 4000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 3, "w"), ran(0, 4, "w")}},
			want: "2/2/0/0/0 2/1/1/0/1", fault: "has no row"},
		{name: "with a row", in: judge.Input{Spans: event(judge.Leave), To: 4000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 3, "w"), ran(0, 4, "w")},
			Gaps: []judge.Gap{{Item: 0, First: 2000, Last: 2000}}}, want: "2/2/0/0/0 2/1/1/0/0"},
		{name: "the dead misses until it is replaced", in: judge.Input{Spans: event(judge.Kill), To: 4000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 4, "b")}}, want: "2/2/0/0/0 2/0/2/0/0"},
		{name: "nobody else does", in: judge.Input{Spans: event(judge.Kill), To: 4000, Runs: []judge.Run{ran(0, 1, "b"), ran(0, 4, "b")}}, want: "2/2/0/0/0 2/0/2/0/2", fault: "before it was b's"},
		{name: "who joins in the instant may miss it", in: judge.Input{Spans: joining(2100), To: 4000, Runs: []judge.Run{ran(0, 1, "b"), ran(0, 3, "a"), ran(0, 4, "a")}}, want: "1/1/0/0/0 3/2/1/0/0"},
		{name: "but not if it was there before", in: judge.Input{Spans: joining(1900), To: 4000, Runs: []judge.Run{ran(0, 1, "b"), ran(0, 3, "a"), ran(0, 4, "a")}}, want: "1/1/0/0/0 3/2/1/0/1", fault: "before it was b's"},
		{name: "Java deals after others have begun", in: judge.Input{Spans: besides, To: 3000, Runs: []judge.Run{ran(0, 1, "b"), ran(0, 3, "w")}}, want: "1/1/0/0/0 2/1/1/0/0"},
		{name: "but not much later", in: judge.Input{Spans: late, To: 3000, Runs: []judge.Run{ran(0, 1, "b"), ran(0, 3, "w")}}, want: "1/1/0/0/0 2/1/1/0/1", fault: "before it was b's"},
		{name: "Java's cache", in: judge.Input{Spans: dealt, To: 3000, Runs: []judge.Run{ran(0, 1, "w"), ran(0, 3, "a")}}, want: "1/1/0/0/0 2/1/1/0/0"},
		{name: "ours has none", in: judge.Input{Spans: dealt, To: 3000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 3, "w")}}, want: "1/1/0/0/0 2/1/1/0/1", fault: "did not run"},
		{name: "an attempt after the dead one's", in: judge.Input{Spans: event(judge.Kill), To: 4000, Runs: []judge.Run{ran(0, 1, "a"), dead, overdue, ran(0, 4, "b"), {Item: 0, Member: "b", Start: 3800, End: 3900, Java: true}}},
			want: "2/2/0/0/0 2/1/0/1/0"},
		{name: "twice where that is meant", in: judge.Input{Spans: event(judge.Twice), To: 4000, Runs: []judge.Run{ran(0, 1, "a"), ran(0, 2, "a"), ran(0, 2, "b"), ran(0, 3, "b"), ran(0, 4, "b")}}, want: "2/2/0/0/0 2/1/0/1/0"},
		{name: "an item that is disabled", in: judge.Input{Spans: []judge.Span{{Role: "java", Event: "off", From: 1000, Every: 1000, Items: 2, Wants: map[int]judge.Want{1: judge.Never}}}, To: 1000,
			Runs: []judge.Run{ran(0, 1, "a"), ran(1, 1, "a")}}, want: "1/0/0/1/1", fault: "should not have"},
		{name: "a trigger", in: judge.Input{Spans: []judge.Span{{Role: "java", Event: "trigger", From: 1234, Items: 1}, {Role: "java", Event: "trigger", From: 9999, Items: 1}}, To: 20_000,
			Runs: []judge.Run{ran(0, 2, "a")}}, want: "2/1/1/0/1", fault: "did not run"},
		{name: "another cron", in: judge.Input{Spans: []judge.Span{{Role: "java", Event: "cron", From: 1000, Every: 2000, Also: 1000, Items: 1}}, To: 5000,
			Runs: []judge.Run{ran(0, 1, "a"), ran(0, 2, "a"), ran(0, 3, "a"), ran(0, 4, "w")}}, want: "2/2/0/0/0"},
		{name: "another cron, and Java's scheduler", in: judge.Input{Spans: []judge.Span{{Role: "java", Event: "cron", From: 1000, Every: 2000, Also: 1000, Items: 1}}, To: 7000,
			Runs: []judge.Run{ran(0, 1, "a"), ran(0, 4, "a")}}, want: "3/1/2/0/1", fault: "6000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := judge.Judge(tt.in)
			var got []string
			for _, r := range r.Rows {
				got = append(got, fmt.Sprintf("%d/%d/%d/%d/%d", r.Ticks, r.Exact, r.Missed, r.Twice, r.Faults))
			}
			if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" {
				t.Errorf("-want +got\n%s%s", d, strings.Join(r.Findings, "\n"))
			}
			if tt.fault != "" && (len(r.Findings) == 0 || !strings.Contains(r.Findings[0], tt.fault)) {
				t.Errorf("found %q, not %q", r.Findings, tt.fault)
			}
		})
	}
}

func TestReadJava(t *testing.T) {
	t.Parallel()
	const told = "joined 900 0 0 10.0.0.1\nstart 1005 0 3 j@-@0\nstart 1006 1 3 j@-@0\nend 1105 0 3 j@-@0\nstop 1107 1 3 j@-@0\nstart 2005 0 3 j@-@0\nend 21"
	runs, lines, err := judge.ReadJava(strings.NewReader(told), "a")
	if err != nil {
		t.Fatal(err)
	}
	want := []judge.Run{
		{Item: 0, Member: "a", Start: 1005, End: 1105, Total: 3, Java: true},
		{Item: 1, Member: "a", Start: 1006, Total: 3, Java: true},
		{Item: 0, Member: "a", Start: 2005, Total: 3, Java: true},
	}
	if d := cmp.Diff(want, runs); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]judge.Told{{Word: "joined", Member: "a", At: 900}}, lines); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"start 1 2\n", "begin 1 2 3 x\n", "start a 2 3 x\n", "end 1 2 3 x\n"} {
		if _, _, err := judge.ReadJava(strings.NewReader(bad), "a"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzReadJava(f *testing.F) {
	f.Add("start 1005 0 3 j@-@0\nend 1105 0 3 j@-@0\n")
	f.Fuzz(func(t *testing.T, text string) {
		runs, _, err := judge.ReadJava(strings.NewReader(text), "a")
		if err == nil && len(runs) > strings.Count(text, "start") {
			t.Errorf("%d runs of %q", len(runs), text)
		}
	})
}

func TestOurs(t *testing.T) {
	t.Parallel()
	lines, err := evidence.Read(strings.NewReader("start j/2/1000 1 7 10.0.0.1@-@5 1010\nbeat j/2/1000 1 7 10.0.0.1@-@5 1060\nend j/2/1000 1 7 10.0.0.1@-@5 1100\nstart j/2/t9 1 8 10.0.0.1@-@5 1500\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []judge.Run{
		{Item: 2, Member: "10.0.0.1", Instant: 1000, Start: 1010, End: 1100, Attempt: 1},
		{Item: 2, Member: "10.0.0.1", Start: 1500, Attempt: 1},
	}
	if d := cmp.Diff(want, judge.Ours(lines)); d != "" {
		t.Error(d)
	}
}

func TestUnsure(t *testing.T) {
	t.Parallel()
	r := judge.Judge(judge.Input{Spans: []judge.Span{{Role: "java", Event: "steady", From: 1000, Every: 1000, Items: 1}}, To: 3000,
		Runs: []judge.Run{ran(0, 1, "a"), ran(0, 2, "a"), ran(0, 3, "w")}, Gaps: []judge.Gap{{Item: 0, First: 2000, Last: 3000}}})
	if got := r.Rows[0].Unsure; got != 1 {
		t.Errorf("%d items are unsure, not the one that ran elsewhere", got)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	row := func(role, event string) judge.Row {
		return judge.Row{Role: role, Event: event, Ticks: 30, Exact: 29, Missed: 1, Faults: 1}
	}
	both := []judge.Named{
		{Name: "one", Report: judge.Report{Rows: []judge.Row{row("wasmjobd leads", "steady"), row("Java leads", "steady")}}},
		{Name: "other", Report: judge.Report{Rows: []judge.Row{row("Java leads", "steady")}}},
	}
	var out strings.Builder
	if err := judge.Table(&out, []judge.Named{judge.Together(both)}); err != nil {
		t.Fatal(err)
	}
	const want = `scenario  role            event   ticks  exact  missed  doubled  faults  unsure
          Java leads      steady  60     58     2       0        2       0
          wasmjobd leads  steady  30     29     1       0        1       0
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}
