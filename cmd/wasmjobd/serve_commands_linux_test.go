package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// outlive is a command that starts a daemon. The daemon leaves session and group, ignores
// SIGTERM, holds a lock as long as it lives, reports if it did not get the lock, and reports
// that it runs.
const outlive = `cd "$1"
setsid sh -c 'trap "" TERM; exec 9>>lock; flock -n 9 || echo $WASMJOB_RUN_ID >>twice
	echo $$ $WASMJOB_RUN_ID $WASMJOB_ATTEMPT >>began; while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 &
trap "" TERM
while :; do sleep 1000; done
`

// commandsFolder returns a folder with a job whose command survives unless it is hunted down.
func commandsFolder(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command("sh", "-c", "command -v setsid flock").CombinedOutput(); err != nil {
		t.Skipf("left out: setsid and flock of util-linux are needed: %v %s", err, out)
	}
	dir := t.TempDir()
	text := fmt.Sprintf("schema = 1\n[server]\ndata_dir = \"data\"\ndrain_timeout = \"1h\"\n[host]\nallow_native_scripts = true\n[defaults]\nlimits = { grace = \"1h\" }\n"+
		"[jobs.daemon]\nkind = \"script\"\ncommand = '/bin/sh %s/outlive.sh %s'\ncron = \"* * * * * ?\"\nallow = { env = { PATH = %q } }\n[host.allow]\nenv = [\"PATH\"]\n",
		dir, dir, os.Getenv("PATH"))
	for name, text := range map[string]string{"outlive.sh": outlive, "jobs.toml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// daemons returns the processes that have reported that they run, in the order in which they
// began.
func daemons(t *testing.T, dir string) (pids []int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "began"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		pid, err := strconv.Atoi(strings.Fields(line)[0])
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// runs reports whether a process exists and has not ended.
func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(text, []byte(") Z "))
}

// childOf returns a child of a process; 0 if it has none.
func childOf(t *testing.T, pid int) (child int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		if fields := strings.Fields(string(text)); len(fields) > 0 {
			if child, err = strconv.Atoi(fields[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return child
}

// onceAtATime fails the test if two daemons of the item ran at once.
func onceAtATime(t *testing.T, dir string) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(dir, "twice")); err == nil {
		t.Errorf("begun while another ran: %s", text)
	}
}

// groupless makes a program see no control groups.
var groupless = []string{"unshare", "-m", "sh", "-c", `umount -a -t cgroup2 && exec "$0" "$@"`}

// ways runs a test for each way in which servers see control groups.
func ways(t *testing.T, test func(t *testing.T, by []string)) {
	t.Helper()
	t.Run("as it is", func(t *testing.T) {
		t.Parallel()
		test(t, nil)
	})
	t.Run("without control groups", func(t *testing.T) {
		t.Parallel()
		if out, err := exec.Command(groupless[0], append(groupless[1:], "true")...).CombinedOutput(); err != nil {
			t.Skipf("left out: it takes root to take them away: %v %s", err, out)
		}
		test(t, groupless)
	})
}

// A server is killed while a command runs whose daemon has left the session. The next server
// ends the daemon before it begins the item again.
func TestServeKilledWhileItsCommandsRun(t *testing.T) {
	t.Parallel()
	for name, alsoSupervisor := range map[string]bool{"alone": false, "with the supervisor": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, by []string) {
				dir := commandsFolder(t)
				d := startServeBy(t, dir, by)
				await(t, func() bool { return len(daemons(t, dir)) == 1 })
				if alsoSupervisor {
					supervisor := childOf(t, d.Process.Pid)
					// The server, too, would end processes that the supervisor has left.
					for _, step := range []struct {
						pid int
						sig syscall.Signal
					}{{d.Process.Pid, syscall.SIGSTOP}, {supervisor, syscall.SIGKILL}} {
						if err := syscall.Kill(step.pid, step.sig); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := d.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				d.end(t)
				d = startServeBy(t, dir, by)
				await(t, func() bool { return len(daemons(t, dir)) == 2 })
				onceAtATime(t, dir)
				secondSignal(t, d, dir)
				if alsoSupervisor && !strings.Contains(d.errors.String(), "ended processes that commands of an earlier server had left") {
					t.Errorf("the log does not tell of what was left:\n%s", d.errors)
				}
			})
		})
	}
}

// secondSignal ends a server with two signals. Nothing of its commands is left when the process
// has ended.
func secondSignal(t *testing.T, d *daemon, dir string) {
	t.Helper()
	stopping := d.errors.await("stopping")
	for range 2 {
		if err := d.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-stopping
	}
	s := d.end(t)
	for _, pid := range daemons(t, dir) {
		if runs(pid) {
			t.Errorf("process %d of a command outlives the server", pid)
		}
	}
	if s.Signal() != syscall.SIGTERM && s.ExitStatus() != exitTerminated {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

func TestServeSecondSignalEndsCommandsFirst(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, by []string) {
		dir := commandsFolder(t)
		d := startServeBy(t, dir, by)
		await(t, func() bool { return len(daemons(t, dir)) == 1 })
		secondSignal(t, d, dir)
	})
}
