package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// A mutant that only one seed in hundreds kills has a stored schedule, so it dies at once
// even when seeds change their meaning. If a schedule no longer kills its mutant, replace
// it by playing the mutant with -keep.

const mutantSchedules = schedules + "/mutants"

// file is the stored schedule that kills the mutant.
func (m mutant) file() string {
	return mutantSchedules + "/" + notInFiles.ReplaceAllString(m.name, "-") + ".gz"
}

var notInFiles = regexp.MustCompile("[^a-z0-9]+")

// replayed returns the invariant that the mutant breaks in its stored schedule; "" if
// there is none.
func (m mutant) replayed() (string, error) {
	s, err := readSchedule(m.file())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	p, err := profileOf(s.profile)
	if err != nil {
		return "", err
	}
	return breach(func() Result { return m.run(s.seed, replayed(s.drawn), p) }), nil
}

// keep stores the schedule of the seed that killed the mutant.
func (m mutant) keep(v verdict) error {
	seed, err := strconv.ParseUint(v.seed, 10, 64)
	if err != nil {
		return fmt.Errorf("%s died by %q, which is no seed", m.name, v.seed)
	}
	p := m.profile(seed)
	d, kept := recorded(seed)
	s := &schedule{seed: seed, profile: p.name, promise: v.invariant, drawn: kept}
	if again := breach(func() Result {
		r := m.run(seed, d, p)
		s.at = r.Breach.At
		return r
	}); again != v.invariant {
		return fmt.Errorf("%s broke %q by seed %d, and recorded %q", m.name, v.invariant, seed, again)
	}
	if err := writeSchedule(m.file(), s); err != nil {
		return err
	}
	if again, err := m.replayed(); err != nil || again != v.invariant {
		return fmt.Errorf("%s broke %q by seed %d, and replayed %q: %w", m.name, v.invariant, seed, again, err)
	}
	return nil
}

// TestSchedulesOfMutants checks that each stored schedule belongs to an existing mutant.
func TestSchedulesOfMutants(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(mutantSchedules + "/*.gz")
	must(t, err)
	for _, file := range files {
		if !slices.ContainsFunc(allMutants(), func(m mutant) bool { return m.file() == file }) {
			t.Errorf("%s is of no mutant: take it away, or rename it", file)
		}
	}
}
