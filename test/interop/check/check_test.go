package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/test/faults/evidence"
	"github.com/wasmjob/wasmjob/test/interop/check"
)

// ran returns a run of 100 ms that starts 5 ms late, by a Java member unless its name
// begins with w.
func ran(item int, second int64, member string) check.Run {
	return check.Run{Item: item, Member: member, Instant: second * 1000, Start: second*1000 + 5, End: second*1000 + 105, Java: !strings.HasPrefix(member, "w")}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	steady := check.Span{Role: "java", Event: "steady", From: 1000, Every: 1000, Items: 1}
	killed := []check.Span{steady, {Role: "java", Event: "hit", From: 2000, Every: 1000, Items: 1, Rule: check.Kill, Hit: "a"}}
	overdue := ran(0, 2, "w")
	overdue.Start, overdue.End = 3500, 3600
	long := ran(0, 1, "a")
	long.End = 2505
	dead := ran(0, 2, "a")
	dead.End = 0
	cut, more := ran(0, 2, "w"), overdue
	cut.End, more.Attempt = 0, 1
	late := ran(0, 2, "a")
	late.Start, late.End = 3100, 3200
	tests := []struct {
		name  string
		in    check.Input
		want  string // ticks/exact/missed/doubled/faults of each row
		fault string // in the first finding
	}{
		{name: "every tick", in: check.Input{Spans: []check.Span{steady}, To: 3000, Runs: []check.Run{ran(0, 1, "a"), ran(0, 2, "w"), ran(0, 3, "a")}}, want: "3/3/0/0/0"},
		{name: "a tick is missing", in: check.Input{Spans: []check.Span{steady}, To: 3000, Runs: []check.Run{ran(0, 1, "a"), ran(0, 3, "a")}},
			want: "3/2/1/0/1", fault: "item 0 did not run; before it was a's"},
		{name: "a tick twice", in: check.Input{Spans: []check.Span{steady}, To: 1000, Runs: []check.Run{ran(0, 1, "a"), ran(0, 1, "w")}},
			want: "1/0/0/1/2", fault: "item 0 ran 2 times"},
		{name: "two at once", in: check.Input{Spans: []check.Span{steady}, To: 2000, Runs: []check.Run{long, ran(0, 2, "w")}}, want: "2/2/0/0/1", fault: "while a still ran it, for 500 ms"},
		{name: "late, and right all the same", in: check.Input{Spans: []check.Span{steady}, To: 2000, Runs: []check.Run{ran(0, 1, "a"), overdue}}, want: "2/2/0/0/0"},
		{name: "so late that the next instant has come", in: check.Input{Spans: []check.Span{steady}, To: 2000, Runs: []check.Run{ran(0, 1, "a"), late}}, want: "2/2/0/0/0"},
		{name: "an event excuses nothing by itself", in: check.Input{Spans: killed, To: 3000, Runs: []check.Run{ran(0, 1, "a"), ran(0, 3, "b")}},
			want: "1/1/0/0/0 2/1/1/0/1", fault: "item 0 did not run; before it was a's"},
		{name: "an attempt after the dead one's", in: check.Input{Spans: killed, To: 3000, Runs: []check.Run{ran(0, 1, "a"), dead, overdue, ran(0, 3, "b")}, Log: []check.Change{gone(3400, "instances/a@-@1")}},
			want: "1/1/0/0/0 2/1/0/1/0"},
		{name: "before it was known to be dead", in: check.Input{Spans: killed, To: 3000, Runs: []check.Run{ran(0, 1, "a"), dead, overdue, ran(0, 3, "b")}, Log: []check.Change{gone(3600, "instances/a@-@1")}},
			want: "1/1/0/0/0 2/1/0/1/1", fault: "ran 2 times"},
		{name: "another attempt of ours", in: check.Input{Spans: killed, To: 3000, Runs: []check.Run{ran(0, 1, "w"), cut, more, ran(0, 3, "w")}}, want: "1/1/0/0/0 2/1/0/1/0"},
		{name: "the same attempt again", in: check.Input{Spans: killed, To: 3000, Runs: []check.Run{ran(0, 1, "w"), cut, overdue, ran(0, 3, "w")}}, want: "1/1/0/0/0 2/1/0/1/1", fault: "ran 2 times"},
		{name: "an item that is disabled", in: check.Input{Spans: []check.Span{{Role: "java", Event: "off", From: 1000, Every: 1000, Items: 2, Wants: map[int]check.Want{1: check.Never}}}, To: 1000,
			Runs: []check.Run{ran(0, 1, "a"), ran(1, 1, "a")}}, want: "1/0/0/1/1", fault: "should not have"},
		{name: "a trigger", in: check.Input{Spans: []check.Span{{Role: "java", Event: "trigger", From: 1234, Items: 1}, {Role: "java", Event: "trigger", From: 9999, Items: 1}}, To: 20_000,
			Runs: []check.Run{{Item: 0, Member: "a", Start: 2005, End: 2105, Java: true}}}, want: "2/1/1/0/1", fault: "did not run"},
		{name: "another cron", in: check.Input{Spans: []check.Span{{Role: "java", Event: "cron", From: 1000, Every: 2000, Also: 1000, Items: 1}}, To: 5000,
			Runs: []check.Run{ran(0, 1, "a"), ran(0, 2, "a"), ran(0, 3, "a"), ran(0, 4, "w")}}, want: "2/2/0/0/0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := check.Runs(tt.in)
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
	const printed = "joined 900 0 0 10.0.0.1\nfired 1004 1000 0 j\nstart 1005 0 3 j@-@0\nstart 1006 1 3 j@-@0\nend 1105 0 3 j@-@0\nstop 1107 1 3 j@-@0\nover 1108 1000 0 j\n" +
		"misfired 1900 1800 0 j\nfired 2004 0 0 MT_1\nstart 2005 0 3 j@-@0\nend 21"
	runs, lines, err := check.ReadJava(strings.NewReader(printed), "a")
	if err != nil {
		t.Fatal(err)
	}
	want := []check.Run{
		{Item: 0, Member: "a", Instant: 1000, Start: 1005, End: 1105, Total: 3, Java: true},
		{Item: 1, Member: "a", Instant: 1000, Start: 1006, Total: 3, Java: true},
		{Item: 0, Member: "a", Start: 2005, Total: 3, Java: true},
	}
	if d := cmp.Diff(want, runs); d != "" {
		t.Error(d)
	}
	wantLines := []check.JavaLine{
		{Word: "joined", Member: "a", At: 900}, {Word: "fired", Member: "a", At: 1004, Instant: 1000}, {Word: "over", Member: "a", At: 1108, Instant: 1000},
		{Word: "misfired", Member: "a", At: 1900, Instant: 1800}, {Word: "fired", Member: "a", At: 2004},
	}
	if d := cmp.Diff(wantLines, lines); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"start 1 2\n", "begin 1 2 3 x\n", "start a 2 3 x\n", "end 1 2 3 x\n"} {
		if _, _, err := check.ReadJava(strings.NewReader(bad), "a"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzReadJava(f *testing.F) {
	f.Add("start 1005 0 3 j@-@0\nend 1105 0 3 j@-@0\n")
	f.Fuzz(func(t *testing.T, text string) {
		runs, _, err := check.ReadJava(strings.NewReader(text), "a")
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
	want := []check.Run{
		{Item: 2, Member: "10.0.0.1", Instant: 1000, Start: 1010, End: 1100, Attempt: 1},
		{Item: 2, Member: "10.0.0.1", Start: 1500, Attempt: 1},
	}
	if d := cmp.Diff(want, check.Ours(lines)); d != "" {
		t.Error(d)
	}
}

func TestUnsure(t *testing.T) {
	t.Parallel()
	r := check.Runs(check.Input{Spans: []check.Span{{Role: "java", Event: "steady", From: 1000, Every: 1000, Items: 1}}, To: 3000,
		Runs: []check.Run{ran(0, 1, "a"), ran(0, 2, "a"), ran(0, 3, "w")}, Gaps: []check.Gap{{Item: 0, First: 2000, Last: 3000}}})
	if got := r.Rows[0].Unsure; got != 1 {
		t.Errorf("%d items are unsure, not the one that ran elsewhere", got)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	row := func(role, event string) check.Row {
		return check.Row{Role: role, Event: event, Ticks: 30, Exact: 29, Missed: 1, Excused: 1, Faults: 1}
	}
	left := func(at int64, evidence string) []check.Excuse {
		return []check.Excuse{{Reason: check.Misfired, Role: "Java leads", Event: "steady", Item: 1, At: at, Evidence: evidence}}
	}
	both := []check.Named{
		{Name: "one", Report: check.Report{Rows: []check.Row{row("wasmjobd leads", "steady"), row("Java leads", "steady")}, Excuses: left(4000, "x misfired")}},
		{Name: "other", Report: check.Report{Rows: []check.Row{row("Java leads", "steady")}, Excuses: left(6000, "y misfired")}},
	}
	var out strings.Builder
	if err := check.Table(&out, []check.Named{check.Together(both)}); err != nil {
		t.Fatal(err)
	}
	const want = `scenario  role            event   ticks  exact  missed  doubled  excused  faults  unsure
          Java leads      steady  60     58     2       0        2        2       0
          wasmjobd leads  steady  30     29     1       0        1        1       0
2 times Quartz left the instant out; first Java leads, steady, 4000, item 1: x misfired
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}
