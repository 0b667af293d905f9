package native

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"
)

// supervisorsTurn is how long those that are found are waited for: they end what is
// below them, also what has another environment.
const supervisorsTurn = 5 * time.Second

// endMarked ends all processes whose run has a name that begins like this, as their
// environment says. It returns when they are gone, and whether there were any.
func endMarked(ctx context.Context, mark string) (there bool, err error) {
	began := time.Now()
	for pause := shortPause; ; pause = min(2*pause, longPause) {
		all, err := marked(mark)
		if err != nil || len(all) == 0 {
			return there, err
		}
		there = true
		var foreign []int
		for pid, supervises := range all {
			if supervises && time.Since(began) < supervisorsTurn {
				continue
			}
			same := func() bool { is, _ := isMarked(pid, mark); return is }
			if send(pid, syscall.SIGKILL, same) != nil {
				foreign = append(foreign, pid)
			}
		}
		if len(foreign) == len(all) {
			return there, fmt.Errorf("%w: %v", errForeign, foreign)
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return there, fmt.Errorf("processes of a command do not end: %v", slices.Sorted(maps.Keys(all)))
		}
	}
}

// marked are the processes that have the mark, and whether they are supervisors.
func marked(mark string) (map[int]bool, error) {
	pids, err := numbers()
	if err != nil {
		return nil, err
	}
	found := map[int]bool{}
	for _, pid := range pids {
		if is, supervises := isMarked(pid, mark); is && pid != os.Getpid() {
			found[pid] = supervises
		}
	}
	return found, nil
}

// isMarked looks at the environment that a process was started with. That of other
// users' processes cannot be read, and one that has ended has none.
func isMarked(pid int, mark string) (is, supervises bool) {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false, false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.HasPrefix(entry, []byte(superviseVar+"="+mark)) {
			return true, true
		}
		is = is || bytes.HasPrefix(entry, []byte(belongVar+"="+mark))
	}
	return is, false
}
