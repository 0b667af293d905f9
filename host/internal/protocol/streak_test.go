package protocol

import (
	"slices"
	"testing"
)

// The newest streak of an item counts, whatever the clocks of two members show.
func TestStreakIsOlderThanNoneThatItFollows(t *testing.T) {
	t.Parallel()
	s := &State{view: &View{Assignment: Assignment{Exists: true}}}
	s.view.Assignment.Streaks = []Streak{{Item: 3, Failures: 2, At: 5_000}}
	for _, tt := range []struct {
		row     Row
		want    Streak
		changed bool
	}{
		{Row{Entry: Entry{Item: 3}, State: Succeeded, Ended: 4_000}, Streak{3, 0, 5_001}, true},
		{Row{Entry: Entry{Item: 3}, State: Failed, Ended: 4_000}, Streak{3, 3, 5_001}, true},
		{Row{Entry: Entry{Item: 3}, State: Lost, Ended: 6_000}, Streak{3, 3, 6_000}, true},
		{Row{Entry: Entry{Item: 3}, State: Missed, Gap: true, Ended: 6_000}, Streak{}, false},
		{Row{Entry: Entry{Item: 2}, State: Succeeded, Ended: 6_000}, Streak{2, 0, 6_000}, false},
		{Row{Entry: Entry{Item: 2}, State: Interrupted, Ended: 6_000}, Streak{2, 1, 6_000}, true},
	} {
		if got, changed := s.streak(&RunsData{}, &tt.row); changed != tt.changed || got != tt.want {
			t.Errorf("%s of item %d makes it %+v, %v; want %+v, %v", tt.row.State, tt.row.Item, got, changed, tt.want, tt.changed)
		}
	}
}

// A record keeps only streaks that no other record has newer.
func TestRecordForgetsStreaks(t *testing.T) {
	t.Parallel()
	own := Runs{ID: "a", RunsData: &RunsData{Past: Past{Streaks: []Streak{
		{0, 2, 50}, // no other record knows it
		{1, 2, 50}, // another member ran it since
		{2, 2, 50}, // the assignment knows
		{3, 0, 50}, // none says that it failed
		{4, 0, 50}, // the assignment still says that it failed
	}}}}
	s := &State{view: &View{Assignment: Assignment{Past: Past{Streaks: []Streak{{2, 2, 50}, {4, 1, 40}}}}}}
	s.view.Runs = []Runs{own, {ID: "b", RunsData: &RunsData{Past: Past{Streaks: []Streak{{1, 0, 60}}}}}}
	if got := s.streaksToKeep(&own); !slices.Equal(got, []Streak{{0, 2, 50}, {4, 0, 50}}) {
		t.Errorf("it reports %v", got)
	}
}

func TestStreaksAreBounded(t *testing.T) {
	t.Parallel()
	var all []Streak
	for i := range 10 * MaxStreaks {
		all = foldStreaks(all, []Streak{{Item: i, Failures: 1 + i%7, At: int64(100 + i)}})
	}
	if len(all) != MaxStreaks || !slices.IsSortedFunc(all, func(a, b Streak) int { return a.Item - b.Item }) {
		t.Fatalf("%d are kept: %v", len(all), all)
	}
	for _, x := range all {
		if x.Failures != 7 {
			t.Errorf("item %d has failed %d times, and is kept", x.Item, x.Failures)
		}
	}
	before := slices.Clone(all)
	if foldStreaks(all, []Streak{{Item: all[0].Item, At: 10_000}}); !slices.Equal(all, before) {
		t.Error("the list that was given changed")
	}
}
