package trace

import "testing"

// Rows of several histories appear once, newest first, and the most detailed one is kept.
func TestNewest(t *testing.T) {
	t.Parallel()
	rows := []Row{
		{Job: "a", Run: "1", Attempt: 1, Instant: 5, State: TakenOver},
		{Job: "b", Run: "1", Attempt: 1, Instant: 5, State: Succeeded, Result: "first"},
		{Job: "a", Run: "2", Attempt: 1, Instant: 6, State: Succeeded},
		{Job: "a", Run: "1", Attempt: 1, Instant: 5, State: Failed, TaskID: "t"},
		{Job: "a", Run: "1", Attempt: 2, Instant: 5, State: Succeeded},
		{Job: "b", Run: "1", Attempt: 1, Instant: 5, State: Succeeded, Result: "second"},
	}
	got := Newest(rows, func(r *Row) *Row { return r })
	want := []string{"a/2", "b/first", "a/succeeded", "a/failed"}
	if len(got) != len(want) || got[0].Run != "2" || got[1].Result != "first" || got[2].Attempt != 2 || got[3].State != Failed {
		t.Errorf("%+v, want %q", got, want)
	}
}

// ParsePlace reads the text of a place, and refuses anything else.
func TestPlaces(t *testing.T) {
	t.Parallel()
	at := PlaceOf(&Row{Instant: -1, Job: "a\"ü", Item: 3, Run: "t-1", Attempt: 2})
	if got, err := ParsePlace(at.String()); err != nil || got != at || got.Compare(at) != 0 {
		t.Errorf("%+v is read as %+v, %v", at, got, err)
	}
	for _, wrong := range []string{"", "!", "bm8", Place{}.String()} {
		if got, err := ParsePlace(wrong); err == nil {
			t.Errorf("%q is read as %+v", wrong, got)
		}
	}
}
