package discovery

import (
	"slices"
	"testing"
)

// A job that no file defines is reported once after the start, and again after the file
// has lost it.
func TestUndefined(t *testing.T) {
	t.Parallel()
	s := New("a")
	want := func(when string, names []string, due bool) {
		t.Helper()
		lost, now := s.UndefinedDue()
		if now != due {
			t.Errorf("%s: due: %v", when, now)
		}
		if got := s.Undefined([]string{"a", "b", "c"}, lost); !slices.Equal(got, names) {
			t.Errorf("%s: %q, want %q", when, got, names)
		}
	}
	want("at first", []string{"b", "c"}, true)
	want("before it was reported", []string{"b", "c"}, true)
	s.Step(Reported{})
	want("once it was reported", nil, false)
	s.Step(FileLost{"a"})
	want("a job is lost", []string{"a"}, true)
	lost, _ := s.UndefinedDue()
	s.Step(FileLost{"c"})
	s.Step(Reported{lost})
	want("another is lost while the first is reported", []string{"c"}, true)
	s.Step(FileHas{"c"})
	want("the file has it again", nil, true)
}
