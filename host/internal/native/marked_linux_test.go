package native

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// program starts a shell with a script and the mark of a run. It returns the first line
// of output.
func program(t *testing.T, mark, text string, args ...string) (cmd *exec.Cmd, line string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command("/bin/sh", append([]string{script}, args...)...)
	cmd.Env = []string{belongVar + "=" + mark, "PATH=/usr/bin:/bin"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, line
}

// A process has no environment for a moment during an exec. A process that execs all the
// time is ended as well.
func TestWhoExecsAllTheTimeIsEnded(t *testing.T) {
	t.Parallel()
	mark := "execs." + strconv.Itoa(os.Getpid()) + "."
	cmd, _ := program(t, mark, `test "$1" || echo; exec /bin/sh "$0" on`)
	pid := cmd.Process.Pid
	for hidden, seen := 0, 0; hidden < 20 || seen < 20; {
		s := search{mark: mark, ours: map[int]owned{}, unclear: map[int]unclear{}}
		s.examine(pid, unclear{})
		_, is := s.ours[pid]
		_, may := s.unclear[pid]
		switch {
		case is:
			seen++
		case may:
			hidden++
		default:
			t.Fatalf("process %d is not found, after %d looks that found it and %d that did not show it", pid, seen, hidden)
		}
	}
	if there, err := endMarked(t.Context(), mark); err != nil || !there || alive(pid) {
		t.Errorf("process %d goes on: %v; found %v, %v", pid, alive(pid), there, err)
	}
}

// A process that shows no environment for too long is not awaited in the next pass.
func TestWhoStaysUnclearIsAwaitedOnce(t *testing.T) {
	t.Parallel()
	s := search{unclear: map[int]unclear{}}
	self, ok := look(os.Getpid())
	if !ok {
		t.Fatal("this process is not found")
	}
	s.examineAgain(self.pid, unclear{})
	if !s.undecided() {
		t.Error("it is not waited for at all")
	}
	long := unclear{self.start, time.Now().Add(-unclearTimeout)}
	s.examineAgain(self.pid, long)
	if s.undecided() || s.unclear[self.pid] != long {
		t.Errorf("it is waited for again, since %v; before, since %v", s.unclear[self.pid].since, long.since)
	}
}

// A process that is ending has no environment any more but still holds its locks, for
// longer the more memory it has.
func TestWhatEndsCountsUntilItHoldsNothing(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	mark := "ends." + strconv.Itoa(os.Getpid()) + "."
	program(t, mark, `exec 9>"$1" 8>&1; flock 9; (head -c 200M /dev/zero; echo ready >&8; exec sleep 1000 >&8) | tail -c 200M`, name)
	if _, err := endMarked(t.Context(), mark); err != nil {
		t.Error(err)
	}
	lock, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("it is still held: %v", err)
	}
}

// A process that was started without an environment delays nothing.
func TestWhoHasNoEnvironmentIsNotAwaited(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/bin/sh", "-c", "echo; read end")
	cmd.Env = []string{}
	cmd.Stdin = holding(t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s := search{mark: "none.", ours: map[int]owned{}}
	if err := s.look(); err != nil {
		t.Fatal(err)
	}
	if _, is := s.unclear[cmd.Process.Pid]; is || !alive(cmd.Process.Pid) {
		t.Errorf("it is looked at again: %v", is)
	}
}

// holding is a pipe that stays silent as long as the test lasts.
func holding(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
	})
	return r
}
