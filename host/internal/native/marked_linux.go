package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"
)

const (
	// supervisorTimeout is how long supervisors get to end the processes below them,
	// which may have another environment, before they are killed.
	supervisorTimeout = 5 * time.Second
	// unclearTimeout is how long a process without an environment is examined again. An
	// exec takes a moment, and so does an end. After that it is taken for a process
	// that has nothing to do with the run.
	unclearTimeout = 2 * time.Second
)

// endMarked ends all processes whose environment names a run that begins with mark. It
// returns when they are gone, and reports whether there were any.
func endMarked(ctx context.Context, mark string) (there bool, err error) {
	began := time.Now()
	s := search{mark: mark, ours: map[int]owned{}}
	for pauses := untilEnded(); ; {
		if err := s.look(); err != nil {
			return there, err
		}
		there = there || len(s.ours) > 0
		if len(s.ours) == 0 && !s.undecided() {
			return there, nil
		}
		// Supervisors end the processes below them. They are killed only if that takes too long.
		if others := s.end(time.Since(began) >= supervisorTimeout); len(others) > 0 && len(others) == len(s.ours) {
			return there, fmt.Errorf("%w: %v", errOtherUser, others)
		}
		wait := time.NewTimer(pauses.Next())
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			if len(s.ours) == 0 {
				return there, nil
			}
			return there, fmt.Errorf("processes of a command do not end: %v", slices.Sorted(maps.Keys(s.ours)))
		}
	}
}

// search finds processes by their environment, in as many passes as necessary. A process
// shows no environment during an exec, and while it ends and still has its files open.
type search struct {
	mark    string
	ours    map[int]owned // processes that had the mark and are not gone
	unclear map[int]unclear
}

// owned is a process that had the mark when it was examined.
type owned struct {
	start      string
	supervises bool
}

// unclear is a process that shows no environment.
type unclear struct {
	start string
	since time.Time
}

// look examines all processes once. A process that had the mark counts until it is gone,
// whatever its environment shows later.
func (s *search) look() error {
	pids, err := numbers()
	if err != nil {
		return err
	}
	for pid, was := range s.ours {
		if !is(pid, was.start) {
			delete(s.ours, pid)
		}
	}
	before := s.unclear
	s.unclear = map[int]unclear{}
	for _, pid := range pids {
		if pid != os.Getpid() {
			s.examine(pid, before[pid])
		}
	}
	return nil
}

// examine examines one process. was says since when it shows no environment; zero if it
// showed one, or is new.
func (s *search) examine(pid int, was unclear) {
	switch s.shows(pid) {
	case theMark, theSupervisor:
		s.keep(pid)
	case nothing:
		s.examineAgain(pid, was)
	}
}

// keep adds a process that has the mark. It reads the mark again after the start time,
// because the process may have ended and another may have its number by then.
func (s *search) keep(pid int) {
	p, ok := look(pid)
	if !ok {
		return
	}
	switch shown := s.shows(pid); shown {
	case theMark, theSupervisor:
		s.ours[pid] = owned{p.start, shown == theSupervisor}
	case nothing:
		s.examineAgain(pid, unclear{})
	}
}

// examineAgain lets the next pass examine a process again that may have the mark, which is a
// variable in the environment of our commands. A process that was found already, or can have
// no environment, is not examined again. One that stays unclear is given up after a while.
func (s *search) examineAgain(pid int, was unclear) {
	p, ok := look(pid)
	if _, known := s.ours[pid]; !ok || known || p.bare {
		return
	}
	if was.start != p.start { // another process had the number before
		was = unclear{p.start, time.Now()}
	}
	s.unclear[pid] = was
}

// undecided reports whether some process may still turn out to have the mark.
func (s *search) undecided() bool {
	for _, p := range s.unclear {
		if time.Since(p.since) < unclearTimeout {
			return true
		}
	}
	return false
}

// end kills the processes found, supervisors only if asked to. It returns those of other
// users, which it cannot kill.
func (s *search) end(supervisors bool) (others []int) {
	for pid, p := range s.ours {
		if p.supervises && !supervisors {
			continue
		}
		if send(pid, syscall.SIGKILL, func() bool { return is(pid, p.start) }) != nil {
			others = append(others, pid)
		}
	}
	return others
}

// is reports whether the process with that number is the one that began at start.
func is(pid int, start string) bool {
	p, ok := look(pid)
	return ok && p.start == start
}

// shown is what the environment of a process shows.
type shown int

const (
	another       shown = iota // it does not have the mark
	theMark                    // the process belongs to the run
	theSupervisor              // it is the supervisor of the run
	nothing                    // there is no environment, at least now
)

// shows reads the environment that a process was started with. The environment of
// another user's process cannot be read and counts as another.
func (s *search) shows(pid int) shown {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if errors.Is(err, fs.ErrPermission) {
		return another
	}
	if len(env) == 0 {
		return nothing
	}
	found := another
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.HasPrefix(entry, []byte(superviseVar+"="+s.mark)) {
			return theSupervisor
		}
		if bytes.HasPrefix(entry, []byte(belongVar+"="+s.mark)) {
			found = theMark
		}
	}
	return found
}
