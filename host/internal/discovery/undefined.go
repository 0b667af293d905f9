package discovery

import (
	"maps"
	"slices"
)

// UndefinedDue reports whether the registry may have jobs that no file defines and that
// were not reported yet: at first, and again once FileLost has named jobs. lost are those.
func (s *State) UndefinedDue() (lost []string, due bool) {
	return slices.Sorted(maps.Keys(s.lost)), !s.reported || len(s.lost) > 0
}

// Undefined returns which of the registry's jobs are to be reported: all at first, later
// those in lost, and in either case none of the server's own file.
func (s *State) Undefined(names, lost []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return s.reported && !slices.Contains(lost, name) || s.own[name]
	})
}

// undefinedReported notes what Reported says. A job that was lost meanwhile is still due.
func (s *State) undefinedReported(lost []string) {
	s.reported = true
	for _, name := range lost {
		delete(s.lost, name)
	}
}
