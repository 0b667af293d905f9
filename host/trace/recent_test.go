package trace

import "testing"

func TestRecentOf(t *testing.T) {
	t.Parallel()
	at := func(instant int64, item int, s State) Row {
		return Row{Instant: instant, End: instant + 5, Item: item, State: s, Attempt: 1}
	}
	gap := Row{Instant: 90, Last: 99, Count: 3, State: Missed}
	for _, tt := range []struct {
		name string
		rows []Row
		want Recent
	}{
		{"no rows", nil, Recent{}},
		{"missed alone", []Row{gap}, Recent{}},
		{"success", []Row{at(20, 0, Succeeded), at(10, 0, Failed)}, Recent{State: Succeeded, At: 25}},
		{"a streak", []Row{gap, at(30, 0, Failed), at(20, 0, TimedOut), at(10, 0, Succeeded), at(5, 0, Failed)}, Recent{State: Failed, At: 35, Failures: 2}},
		{"attempts are one run", []Row{at(30, 0, Failed), at(30, 0, Retried), at(30, 0, Retried)}, Recent{State: Failed, At: 35, Failures: 1}},
		{"the other item is well", []Row{at(30, 0, Succeeded), at(30, 1, Failed), at(20, 0, Succeeded), at(20, 1, Lost)}, Recent{State: Succeeded, At: 35, Failures: 2, Item: 1}},
		{"cancelled and skipped end no streak", []Row{at(40, 0, Cancelled), at(30, 0, Skipped), at(20, 0, Failed)}, Recent{State: Cancelled, At: 45, Failures: 1}},
		{"no end is known", []Row{{Instant: 7, State: Lost}}, Recent{State: Lost, At: 7, Failures: 1}},
		{"as many on two items", []Row{at(30, 2, Failed), at(30, 1, Failed)}, Recent{State: Failed, At: 35, Failures: 1, Item: 1}},
	} {
		if got := RecentOf(tt.rows); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
