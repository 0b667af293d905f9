package discovery

import (
	"maps"
	"slices"
)

// UndefinedDue reports whether the registry may have jobs that no file of this server has,
// and that were not reported yet: at first, and again after FileLost has named jobs, which
// it returns as lost.
func (s *State) UndefinedDue() (lost []string, due bool) {
	return slices.Sorted(maps.Keys(s.lost)), !s.reported || len(s.lost) > 0
}

// Undefined returns the registry's jobs to report: at first all, later those in lost, and
// never jobs of the server's own file.
func (s *State) Undefined(names, lost []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return s.reported && !slices.Contains(lost, name) || s.own[name]
	})
}

// undefinedReported handles the input Reported: the log has named the jobs without a file, of
// which lost are those that a changed file no longer has. A job that a file has lost meanwhile
// is still to be named.
func (s *State) undefinedReported(lost []string) {
	s.reported = true
	for _, name := range lost {
		delete(s.lost, name)
	}
}
