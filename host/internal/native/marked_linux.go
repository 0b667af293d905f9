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
	// supervisorsTurn is how long those that are found are waited for: they end what is
	// below them, also what has another environment.
	supervisorsTurn = 5 * time.Second
	// unclearTurn is how long a process is looked at again that shows no environment. To
	// become another program takes a moment, and so does an end; what does not come to
	// its end for so long would be any process of the machine.
	unclearTurn = 2 * time.Second
)

// endMarked ends all processes whose run has a name that begins like this, as their
// environment says. It returns when they are gone, and whether there were any.
func endMarked(ctx context.Context, mark string) (there bool, err error) {
	began := time.Now()
	s := search{mark: mark, ours: map[int]owned{}}
	for pauses := untilEnded(); ; {
		if err := s.look(); err != nil {
			return there, err
		}
		there = there || len(s.ours) > 0
		if len(s.ours) == 0 && !s.awaits() {
			return there, nil
		}
		if foreign := s.end(time.Since(began) >= supervisorsTurn); len(foreign) > 0 && len(foreign) == len(s.ours) {
			return there, fmt.Errorf("%w: %v", errForeign, foreign)
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

// search looks for processes by their environment, as often as it takes. A process
// shows none while it becomes another program, and while it ends: then it still has
// its files open.
type search struct {
	mark    string
	ours    map[int]owned // that had the mark, and are not gone
	unclear map[int]unclear
}

// owned is a process that had the mark when it was looked at.
type owned struct {
	start      string
	supervises bool
}

// unclear is a process that shows no environment.
type unclear struct {
	start string
	since time.Time
}

// look looks at all processes once. One that had the mark counts until it is gone,
// whatever it shows then.
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
			s.see(pid, before[pid])
		}
	}
	return nil
}

// see looks at one process, which was unclear before, or not.
func (s *search) see(pid int, was unclear) {
	switch s.shows(pid) {
	case theMark, theSupervisor:
		s.keep(pid)
	case nothing:
		s.wonder(pid, was)
	}
}

// keep counts a process that has the mark in. The mark is looked at on both sides of
// its start: meanwhile it may have ended, and another one may have its number.
func (s *search) keep(pid int) {
	p, ok := look(pid)
	if !ok {
		return
	}
	switch shown := s.shows(pid); shown {
	case theMark, theSupervisor:
		s.ours[pid] = owned{p.start, shown == theSupervisor}
	case nothing:
		s.wonder(pid, unclear{})
	}
}

// wonder has a process looked at again that may have the mark.
func (s *search) wonder(pid int, was unclear) {
	p, ok := look(pid)
	if _, known := s.ours[pid]; !ok || known || p.bare {
		return
	}
	if was.start != p.start {
		was = unclear{p.start, time.Now()}
	}
	s.unclear[pid] = was
}

// awaits tells whether a process is still to show whether it has the mark.
func (s *search) awaits() bool {
	for _, p := range s.unclear {
		if time.Since(p.since) < unclearTurn {
			return true
		}
	}
	return false
}

// end ends what was found. It gives what belongs to other users.
func (s *search) end(supervisors bool) (foreign []int) {
	for pid, p := range s.ours {
		if p.supervises && !supervisors {
			continue
		}
		if send(pid, syscall.SIGKILL, func() bool { return is(pid, p.start) }) != nil {
			foreign = append(foreign, pid)
		}
	}
	return foreign
}

// is tells whether a process is there that began at a time.
func is(pid int, start string) bool {
	p, ok := look(pid)
	return ok && p.start == start
}

// shown is what the environment of a process tells.
type shown int

const (
	another       shown = iota // it does not have the mark
	theMark                    // the process belongs to the run
	theSupervisor              // it is the supervisor of the run
	nothing                    // there is no environment, or not now
)

// shows looks at the environment that a process was started with. That of other users'
// processes cannot be read.
func (s *search) shows(pid int) shown {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if errors.Is(err, fs.ErrPermission) {
		return another
	}
	if len(env) == 0 {
		return nothing
	}
	tells := another
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.HasPrefix(entry, []byte(superviseVar+"="+s.mark)) {
			return theSupervisor
		}
		if bytes.HasPrefix(entry, []byte(belongVar+"="+s.mark)) {
			tells = theMark
		}
	}
	return tells
}
