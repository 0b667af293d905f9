package native

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// away starts a process that prints its number and goes on forever in a session and a
// group of its own, as a daemon does. The command goes on as well. wiped also clears the
// environment of that process.
const (
	away  = `/bin/sh -c 'setsid sh -c "echo \$\$ >&2; exec sleep 1000 2>/dev/null >&2" & while :; do sleep 1000; done'`
	wiped = `/bin/sh -c 'setsid env -i sh -c "echo \$\$ >&2; exec sleep 1000 2>/dev/null >&2" & while :; do sleep 1000; done'`
	// left: the command ends as soon as it has printed the number.
	left = `/bin/sh -c '(setsid sh -c "echo \$\$; exec sleep 1000 2>/dev/null >&2" &) | head -n 1 >&2; exit 0'`
)

// grouped returns Commands with control groups, or without.
func grouped(t *testing.T, dir string, groups bool) *Commands {
	t.Helper()
	c := open(t, dir)
	switch {
	case !groups && c.parentGroup != "":
		c.Close()
		c.parentGroup = ""
	case groups && c.parentGroup == "":
		t.Skip("left out: this process may not make control groups of version 2")
	}
	return c
}

// begun runs a command and returns the process number that it prints.
func begun(t *testing.T, ctx context.Context, c *Commands, line string) (pid int, done <-chan job.Outcome) { //nolint:revive // t first
	t.Helper()
	log, done := startedBy(t, ctx, c, line, nil)
	pid, err := strconv.Atoi(strings.TrimSpace(<-log))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatalf("process %d does not run", pid)
	}
	endAfter(t, pid)
	return pid, done
}

// endAfter ends a process that still runs after a failed test.
func endAfter(t *testing.T, pid int) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() && alive(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

func alive(pid int) bool {
	_, ok := look(pid)
	return ok
}

// A process that left session and group is still a descendant of the supervisor.
func TestWhoLeftTheSessionIsEnded(t *testing.T) {
	t.Parallel()
	for _, groups := range []bool{false, true} {
		for name, line := range map[string]string{"cancelled": away, "wiped": wiped, "leftover": left} {
			t.Run(name+" groups="+strconv.FormatBool(groups), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := grouped(t, t.TempDir(), groups)
				log, done := startedBy(t, ctx, c, line, nil)
				pid, err := strconv.Atoi(<-log)
				if err != nil {
					t.Error(err)
				}
				want := job.OK
				if name != "leftover" {
					want = job.Stopped
					cancel()
				}
				if out := <-done; out.Verdict != want || alive(pid) {
					t.Errorf("process %d lives: %v; %+v", pid, alive(pid), out)
				}
			})
		}
	}
}

// Every process gets SIGTERM before it is killed, even outside of the group.
func TestWhoLeftTheSessionIsAsked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "asked")
	line := `/bin/sh -c 'setsid sh -c "trap \"echo asked > ` + file + `; exit\" TERM; echo \$\$ >&2; while :; do sleep 0.01; done" & trap "wait; exit 4" TERM; wait; wait'`
	ask := make(chan struct{})
	log, done := startedBy(t, t.Context(), open(t, t.TempDir()), line, func(c *job.Call) {
		c.Why = func() job.StopReason {
			select {
			case <-ask:
				return job.StopShutdown
			default:
				return job.Continue
			}
		}
	})
	<-log
	close(ask)
	if out := <-done; out.Code != 4 {
		t.Errorf("%+v", out)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "asked\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// supervisorOf finds the supervisor above a process.
func supervisorOf(t *testing.T, c *Commands, pid int) int {
	t.Helper()
	s := search{mark: c.mark + ".", ours: map[int]owned{}}
	if err := s.look(); err != nil {
		t.Fatal(err)
	}
	for p, o := range s.ours {
		if o.supervises && p != pid {
			return p
		}
	}
	t.Fatal("no supervisor")
	return 0
}

// A run ends when its supervisor is killed.
func TestASupervisorIsKilled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line   string
		groups bool
	}{"by environment": {away, false}, "by control group": {wiped, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := grouped(t, t.TempDir(), tt.groups)
			pid, done := begun(t, t.Context(), c, tt.line)
			if err := syscall.Kill(supervisorOf(t, c, pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if out := <-done; out.Verdict != job.Failure || !strings.Contains(out.Error, "its supervisor ended before it (signal: killed)") || alive(pid) {
				t.Errorf("process %d lives: %v; %+v", pid, alive(pid), out)
			}
		})
	}
}

// abandon starts a command and kills its supervisor. The server does nothing about it, as
// if it had been killed as well.
func abandon(t *testing.T, c *Commands, line string) (pid int) {
	t.Helper()
	command, err := c.New(line)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.start(command.args, c.mark+".1.", 0, nil, io.Discard, w)
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 20)
	n, err := r.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(text[:n]))); err != nil {
		t.Fatal(err)
	}
	endAfter(t, pid)
	if err := run.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.cmd.Wait()
		_ = run.control.Close()
		_ = run.report.Close()
		_ = r.Close()
		_ = w.Close()
	})
	return pid
}

// After server and supervisors were killed, the next server ends the processes left.
func TestTheNextServerEndsWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line   string
		groups bool
	}{"by environment": {away, false}, "by control group": {wiped, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, copied := t.TempDir(), t.TempDir()
			pid := abandon(t, grouped(t, dir, tt.groups), tt.line)
			if text, err := os.ReadFile(filepath.Join(dir, groupFile)); err == nil {
				if err := os.WriteFile(filepath.Join(copied, groupFile), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if open(t, copied); !alive(pid) {
				t.Error("a server on a copy of the directory has ended it")
			}
			if open(t, dir); alive(pid) {
				t.Error("it goes on")
			}
		})
	}
}

func TestNothingBeginsAfterEnd(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir())
	pid, done := begun(t, t.Context(), c, away)
	c.End(t.Context())
	if out := <-done; out.Verdict != job.Stopped || alive(pid) {
		t.Errorf("process %d lives: %v; %+v", pid, alive(pid), out)
	}
	k, about := callOf(t, c, "/bin/echo")
	if out := k.Run(t.Context(), about); out.Verdict != job.Stopped {
		t.Errorf("%+v", out)
	}
}

// A supervisor that was started by hand reports that and runs nothing.
func TestSuperviseWithoutAServer(t *testing.T) {
	t.Parallel()
	var say strings.Builder
	if code := Supervise([]string{"/bin/true"}, strings.NewReader(""), &say); code != exitMisuse || !strings.Contains(say.String(), "started by a server") {
		t.Errorf("%d: %s", code, &say)
	}
}

// A process of an earlier server that does not end is an error, and names it.
func TestWhatDoesNotEndIsAnError(t *testing.T) {
	t.Parallel()
	// It never execs, so it always shows its environment.
	stays := `/bin/sh -c 'setsid sh -c "echo \$\$ >&2; while :; do sleep 1000; done 2>/dev/null >&2" & while :; do sleep 1000; done'`
	pid := abandon(t, grouped(t, t.TempDir(), false), stays)
	mark, ok := markOf(t, pid)
	over, cancel := context.WithCancel(t.Context())
	cancel() // it has no time to end
	there, err := endMarked(over, mark)
	if !ok || !there || err == nil || !strings.Contains(err.Error(), strconv.Itoa(pid)) {
		t.Errorf("mark %q: %v, %v", mark, there, err)
	}
	if there, err = endMarked(t.Context(), mark); err != nil || alive(pid) {
		t.Errorf("%v, %v; it goes on: %v", there, err, alive(pid))
	}
}

func markOf(t *testing.T, pid int) (mark string, ok bool) {
	t.Helper()
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(env), "\x00") {
		if text, is := strings.CutPrefix(entry, belongVar+"="); is {
			mark, ok = text, true
		}
	}
	return mark, ok
}
