package evidence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

const (
	serverA = "10.0.0.1@-@1"
	serverB = "10.0.0.2@-@2"
)

// words decodes a short form of lines: "start 1 1 7 A 1000" is the start of the run of
// second 1, attempt 1, token 7, by A at 1000 ms.
func words(t *testing.T, text string) []evidence.Line {
	t.Helper()
	var file strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		server := map[string]string{"A": serverA, "B": serverB}[f[4]]
		fmt.Fprintf(&file, "%s j/0/%s000 %s %s %s %s", f[0], f[1], f[2], f[3], server, strings.Join(f[5:], " "))
		file.WriteString("\n")
	}
	lines, err := evidence.Read(strings.NewReader(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func row(second int64, attempt int, server string, fence int64, state trace.State) trace.Row {
	return trace.Row{Job: "j", Run: fmt.Sprint(second * 1000), Attempt: attempt, Instant: second * 1000,
		Cause: trace.Schedule, State: state, Instance: server, Fence: fence}
}

func gap(first, last, count int64) trace.Row {
	return trace.Row{Job: "j", Run: fmt.Sprintf("gap-%d", first*1000), Instant: first * 1000, Last: last * 1000, Count: count,
		Cause: trace.Schedule, State: trace.Missed}
}

// Two runs by A; the second is taken over by B after A was killed at 2100.
const killed = `
start 1 1 5 A 1000
beat 1 1 5 A 1050
end 1 1 5 A 1100
start 2 1 6 A 2000
beat 2 1 6 A 2050
start 2 2 9 B 2600
end 2 2 9 B 2700
`

func killedRows() []trace.Row {
	return []trace.Row{
		row(1, 1, serverA, 5, trace.Succeeded), row(2, 1, serverA, 6, trace.TakenOver), row(2, 2, serverB, 9, trace.Succeeded),
	}
}

// frozen is a server that is frozen from 2060 to 2650 and writes when it wakes.
const frozen = `
start 2 1 6 A 2000
beat 2 1 6 A 2050
start 2 2 9 B 2600
beat 2 1 6 A 2655
stop 2 1 6 A 2660
end 2 2 9 B 2700
`

// wiped is an item whose second run is forgotten.
const wiped = `
start 1 1 5 A 1000
end 1 1 5 A 1100
start 2 1 6 A 2000
beat 2 1 6 A 2200
start 5 1 1 A 5000
end 5 1 1 A 5100
`

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		lines  string
		rows   []trace.Row
		change func(*evidence.Input)
		want   string // kinds of the findings
	}{
		{name: "a run is taken over", lines: killed, rows: killedRows()},
		{name: "a gap accounts for what never ran", lines: killed, rows: append(killedRows(), gap(3, 5, 3)),
			change: func(in *evidence.Input) { in.To = 5000 }},
		{name: "two histories hold the same row", lines: killed, rows: append(killedRows(), row(1, 1, serverA, 5, trace.Succeeded))},

		{name: "both at once", lines: strings.Replace(frozen, "2655", "2610", 1), rows: killedRows()[1:],
			change: func(in *evidence.Input) { in.From = 1000 }, want: "overlap"},
		{name: "a frozen server wakes", lines: frozen, rows: killedRows()[1:],
			change: func(in *evidence.Input) {
				in.From, in.Frozen = 1000, []evidence.Span{{Server: "10.0.0.1", From: 2060, To: 2650}}
			}},
		{name: "a command of a frozen server goes on", lines: frozen, rows: killedRows()[1:],
			change: func(in *evidence.Input) {
				in.From, in.Frozen = 1000, []evidence.Span{{Server: "10.0.0.1", From: 2060, To: 2650}}
				in.Jobs[0].Command = true
			}, want: "overlap"},
		{name: "another server was frozen", lines: frozen, rows: killedRows()[1:],
			change: func(in *evidence.Input) {
				in.From, in.Frozen = 1000, []evidence.Span{{Server: "10.0.0.2", From: 2060, To: 2650}}
			}, want: "overlap"},
		{name: "it had been awake when the other started", lines: frozen, rows: killedRows()[1:],
			change: func(in *evidence.Input) {
				in.From, in.Frozen = 1000, []evidence.Span{{Server: "10.0.0.1", From: 2060, To: 2500}}
			}, want: "overlap"},
		{name: "a frozen server wakes and goes on for long", lines: strings.Replace(frozen, "A 2660", "A 4000", 1), rows: killedRows()[1:],
			change: func(in *evidence.Input) {
				in.From, in.Frozen = 1000, []evidence.Span{{Server: "10.0.0.1", From: 2060, To: 2650}}
			}, want: "overlap"},
		{name: "a frozen server starts a guest as it wakes", lines: "start 2 2 9 B 2600\nstart 2 1 6 A 2655\nend 2 2 9 B 2700", rows: killedRows()[1:],
			change: func(in *evidence.Input) {
				in.From, in.Frozen = 1000, []evidence.Span{{Server: "10.0.0.1", From: 1990, To: 2650}}
			}},

		{name: "an instant without run and row", lines: killed, rows: killedRows(),
			change: func(in *evidence.Input) { in.To = 3000 }, want: "loss row"},
		{name: "an instant that ran and has no row", lines: killed, rows: killedRows()[1:], want: "row"},
		{name: "an item that nothing is known of", lines: killed, rows: killedRows(),
			change: func(in *evidence.Input) { in.Jobs[0].Items = 2 }, want: "loss row"},

		{name: "the same attempt twice", lines: strings.ReplaceAll(killed, "2 2 9 B", "2 1 9 B"),
			rows: append(killedRows()[:1], row(2, 1, serverB, 9, trace.Succeeded)), want: "double row"},
		{name: "one attempt starts twice", lines: strings.Replace(killed, "beat 1", "start 1", 1), rows: killedRows(), want: "double"},

		{name: "a smaller token", lines: strings.ReplaceAll(killed, " 9 B", " 4 B"),
			rows: append(killedRows()[:2], row(2, 2, serverB, 4, trace.Succeeded)), want: "token"},
		{name: "a smaller token after the registry was wiped", lines: strings.ReplaceAll(killed, " 9 B", " 4 B"),
			rows:   append(killedRows()[:2], row(2, 2, serverB, 4, trace.Succeeded)),
			change: func(in *evidence.Input) { in.Wiped = []int64{2300} }},

		{name: "what was going on when the registry was wiped", lines: wiped, rows: []trace.Row{row(1, 1, serverA, 5, trace.Succeeded), row(5, 1, serverA, 1, trace.Succeeded)},
			change: func(in *evidence.Input) { in.To, in.Wiped = 5000, []int64{2300} }},
		{name: "what had ended long before the registry was wiped", lines: wiped, rows: []trace.Row{row(5, 1, serverA, 1, trace.Succeeded)},
			change: func(in *evidence.Input) { in.To, in.Wiped = 5000, []int64{2300} }, want: "row"},
		{name: "what was overdue when the registry was wiped", lines: strings.ReplaceAll(wiped, " 2 1 6", " 3 1 6"),
			rows:   []trace.Row{row(1, 1, serverA, 5, trace.Succeeded), row(5, 1, serverA, 1, trace.Succeeded)},
			change: func(in *evidence.Input) { in.To, in.Wiped = 5000, []int64{2300} }},
		{name: "what comes after the registry was wiped", lines: wiped, rows: []trace.Row{row(1, 1, serverA, 5, trace.Succeeded), row(5, 1, serverA, 1, trace.Succeeded)},
			change: func(in *evidence.Input) { in.To, in.Wiped = 6000, []int64{2300} }, want: "loss row"},

		{name: "all is in the registry's log", lines: killed, rows: killedRows(),
			change: func(in *evidence.Input) { in.Written = map[int64]bool{5: true, 6: true, 9: true} }},
		{name: "the registry has forgotten a transaction", lines: killed, rows: killedRows(),
			change: func(in *evidence.Input) { in.Written = map[int64]bool{5: true, 9: true} }, want: "forgot"},

		{name: "the row has another token", lines: killed, rows: append(killedRows()[1:], row(1, 1, serverA, 4, trace.Succeeded)), want: "row"},
		{name: "the row names another server", lines: killed, rows: append(killedRows()[1:], row(1, 1, serverB, 5, trace.Succeeded)), want: "row"},
		{name: "the row says that nothing ran", lines: killed, rows: append(killedRows()[1:], row(1, 1, serverA, 5, trace.Skipped)), want: "row"},
		{name: "succeeded without an end", lines: strings.Replace(killed, "end 1", "beat 1", 1), rows: killedRows(), want: "row"},
		{name: "succeeded without a guest", lines: "end 1 1 5 A 1100", rows: killedRows(), want: "double row"},
		{name: "rows that end differently", lines: killed, rows: append(killedRows(), row(1, 1, serverA, 5, trace.Failed)), want: "row"},
		{name: "succeeded and once more", lines: killed, rows: []trace.Row{killedRows()[0], row(2, 1, serverA, 6, trace.Succeeded), killedRows()[2]}, want: "row"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := evidence.Input{Lines: words(t, c.lines), Rows: c.rows, Jobs: []evidence.Job{{Name: "j", Items: 1, Every: time.Second}}, To: 2000}
			if c.change != nil {
				c.change(&in)
			}
			if got := kinds(evidence.Check(in)); got != c.want {
				t.Errorf("findings %q, want %q: %v", got, c.want, evidence.Check(in).Findings)
			}
		})
	}
}

// kinds returns the kinds of the findings in the order of the rules, each once.
func kinds(r evidence.Report) string {
	var out []string
	for _, k := range []evidence.Kind{evidence.Overlap, evidence.Loss, evidence.Double, evidence.Token, evidence.Row, evidence.Elements, evidence.Forgot} {
		if r.Count(k) > 0 {
			out = append(out, string(k))
		}
	}
	return strings.Join(out, " ")
}

func TestFrozenIsCountedSeparately(t *testing.T) {
	t.Parallel()
	r := evidence.Check(evidence.Input{Lines: words(t, frozen), Rows: killedRows()[1:], Jobs: []evidence.Job{{Name: "j", Items: 1, Every: time.Second}},
		From: 1000, To: 2000, Frozen: []evidence.Span{{Server: "10.0.0.1", From: 2060, To: 2650}}})
	if r.Late != 2 || r.LateFor != 10*time.Millisecond || len(r.Findings) > 0 {
		t.Errorf("%d late lines for %v, %v", r.Late, r.LateFor, r.Findings)
	}
}

func TestTakeover(t *testing.T) {
	t.Parallel()
	r := evidence.Check(evidence.Input{Lines: words(t, killed), Rows: killedRows(), Jobs: []evidence.Job{{Name: "j", Items: 1, Every: time.Second}},
		To: 2000, Hit: []evidence.Moment{{Server: "10.0.0.1", At: 2100}}})
	if r.Open != 1 || !slices.Equal(r.TookOver, []time.Duration{500 * time.Millisecond}) || r.Margin != 550*time.Millisecond {
		t.Errorf("%d open, %v, margin %v", r.Open, r.TookOver, r.Margin)
	}
}

// The server that took over the record says that the attempt was interrupted. The
// attempt's own server lost the registry and lived, and has a row too. That is not a
// second end.
func TestRowOfASurvivor(t *testing.T) {
	t.Parallel()
	for why, found := range map[reason.Code]bool{reason.RegistryLost: false, reason.ServerGone: true} {
		rows := []trace.Row{row(1, 1, serverA, 5, trace.Succeeded), row(2, 1, serverA, 6, trace.Interrupted), row(2, 1, serverA, 6, trace.TakenOver)}
		rows[2].Reason = reason.Of(why)
		lines := strings.Join(strings.Split(strings.TrimSpace(killed), "\n")[:2], "\n") + "\nstart 2 1 6 A 2000\n"
		r := evidence.Check(evidence.Input{Lines: words(t, lines), Rows: rows, Jobs: []evidence.Job{{Name: "j", Items: 1, Every: time.Second}}, To: 2000})
		if doubled := strings.Contains(fmt.Sprint(r.Findings), "doubled"); doubled != found {
			t.Errorf("%s: %v", why, r.Findings)
		}
	}
}

// Batches of two elements.
func TestElements(t *testing.T) {
	t.Parallel()
	const one = "start 1 1 5 A 1000\nelement 1 1 5 A 1010 0\nelement 1 1 5 A 1020 1\nend 1 1 5 A 1030\n"
	tests := []struct {
		name, lines string
		state       trace.State // of the first run's row
		want        string
	}{
		{"the next batch", one + "start 2 1 6 A 2000\nelement 2 1 6 A 2010 2\nend 2 1 6 A 2020", trace.Succeeded, ""},
		{"kept, but not reported", one + "start 2 1 6 A 2000\nelement 2 1 6 A 2010 2\nend 2 1 6 A 2020", trace.Interrupted, ""},
		{"not kept", one + "start 2 1 6 A 2000\nelement 2 1 6 A 2010 0\nend 2 1 6 A 2020", trace.Failed, ""},
		{"kept and forgotten", one + "start 2 1 6 A 2000\nelement 2 1 6 A 2010 0\nend 2 1 6 A 2020", trace.Succeeded, "elements"},
		{"one is left out", one + "start 2 1 6 A 2000\nelement 2 1 6 A 2010 3\nend 2 1 6 A 2020", trace.Succeeded, "elements"},
		{"kept before its end", strings.Replace(one, "end 1", "stop 1", 1) + "start 2 1 6 A 2000\nelement 2 1 6 A 2010 2\nend 2 1 6 A 2020", trace.Failed, "elements"},
		{"not from the first", "start 1 1 5 A 1000\nelement 1 1 5 A 1010 1\nend 1 1 5 A 1030\nstart 2 1 6 A 2000\nend 2 1 6 A 2000", trace.Succeeded, "elements"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := evidence.Check(evidence.Input{Lines: words(t, c.lines), To: 2000,
				Rows: []trace.Row{row(1, 1, serverA, 5, c.state), row(2, 1, serverA, 6, trace.Succeeded)},
				Jobs: []evidence.Job{{Name: "j", Items: 1, Every: time.Second, Batch: 2}}})
			if got := kinds(r); got != c.want {
				t.Errorf("findings %q, want %q: %v", got, c.want, r.Findings)
			}
		})
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := evidence.Table(&out, 3*time.Second, []evidence.Named{
		{Name: "kill", Report: evidence.Report{Runs: 7, Instants: 9, Open: 2, TookOver: []time.Duration{4 * time.Second, 3 * time.Second},
			Margin: time.Second, Findings: []evidence.Finding{{Kind: evidence.Loss}}}},
		{Name: "stop", Report: evidence.Report{Margin: -1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(out.String(), "\n")
	for i, want := range []string{
		"fault instants runs overlaps losses doubles tokens rows elements forgot late open taken p50 max margin",
		"kill 9 7 0 1 0 0 0 0 0 0 2 2 4s 4s 1s", "stop 0 0 0 0 0 0 0 0 0 0 0 0 - - -",
	} {
		if got := strings.Join(strings.Fields(rows[i]), " "); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}
