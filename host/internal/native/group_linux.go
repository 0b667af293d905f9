package native

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groupFile is the file in a server's directory with the name of the control group
// that the server created.
const groupFile = "control-group"

// ownGroup creates a control group for all commands below the one of this process,
// if that is of version 2 and may be divided. It writes the name to dir first, so
// that the next server finds the group.
func ownGroup(ctx context.Context, dir, mark string) (string, error) {
	at, err := groupOfProcess()
	if err != nil {
		return "", err
	}
	if err := unix.Access(filepath.Join(at, "cgroup.procs"), unix.W_OK); err != nil {
		return "", fmt.Errorf("move a process within %s: %w", at, err)
	}
	own := filepath.Join(at, groupName(mark))
	if err := os.WriteFile(filepath.Join(dir, groupFile), []byte(own), 0o600); err != nil {
		return "", err
	}
	if err := endGroup(ctx, own); err != nil { // left by a directory that was removed and whose inode number the lock has now
		return "", err
	}
	if err := os.Mkdir(own, 0o755); err != nil { //nolint:gosec // readable by others, as all control groups
		return "", err
	}
	if _, err := os.Stat(filepath.Join(own, "cgroup.kill")); err != nil {
		return "", errors.Join(err, os.Remove(own)) // kernels older than 5.14 do not have it
	}
	return own, nil
}

// groupName returns the name of the control group of all commands of a server.
func groupName(mark string) string { return "wasmjobd-" + mark }

// groupOfProcess returns the directory of this process's control group.
func groupOfProcess() (string, error) {
	name := "" // of the group, below the top of the hierarchy
	if err := eachLine("/proc/self/cgroup", func(line string) {
		if text, is := strings.CutPrefix(line, "0::"); is {
			name = text
		}
	}); err != nil {
		return "", err
	}
	dir := ""
	if err := eachLine("/proc/self/mountinfo", func(line string) {
		mount, kind, _ := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		const root, point = 3, 4 // the group that is mounted, and where
		if len(fields) <= point || !strings.HasPrefix(kind, "cgroup2 ") {
			return
		}
		if rest, is := strings.CutPrefix(name, strings.TrimSuffix(fields[root], "/")); is && name != "" {
			dir = filepath.Join(fields[point], rest)
		}
	}); err != nil {
		return "", err
	}
	if dir == "" {
		return "", errors.New("there are no control groups of version 2 here")
	}
	return dir, nil
}

// eachLine calls do for each line of a file.
func eachLine(file string, do func(string)) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		do(s.Text())
	}
	return nil
}

// makeGroup creates the control group of one run; it returns "" if there are none.
func (c *Commands) makeGroup(mark string) string {
	if c.parentGroup == "" {
		return ""
	}
	group := filepath.Join(c.parentGroup, strings.TrimSuffix(mark, "."))
	if err := os.Mkdir(group, 0o755); err != nil { //nolint:gosec // as above
		c.o.Log.Debug("a command gets no control group", "reason", err)
		return ""
	}
	return group
}

// startIn starts a supervisor in a control group, and in a session of its own.
func startIn(cmd *exec.Cmd, group string) error {
	dir, err := os.Open(group)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // it was only read
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	return cmd.Start() //nolint:wrapcheck // the caller tries without a group
}

// endGroups ends the processes in the control group that an earlier server has
// created, and reports whether there were any.
func (c *Commands) endGroups(ctx context.Context) (there bool, err error) {
	text, err := os.ReadFile(filepath.Join(c.o.Dir, groupFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	group := string(text)
	if filepath.Base(group) != groupName(c.mark) {
		return false, nil // the directory was copied from another server
	}
	if at, err := groupOfProcess(); err == nil && (at == group || strings.HasPrefix(at, group+"/")) {
		return false, nil // this server runs inside that group, started by a command of the earlier one
	}
	events, err := os.ReadFile(filepath.Join(group, "cgroup.events")) //nolint:gosec // the name was written by a server with this directory
	there = err == nil && bytes.Contains(events, []byte("populated 1\n"))
	return there, endGroup(ctx, group)
}

// endGroup kills all processes of a control group, including those of other users,
// and removes the group.
func endGroup(ctx context.Context, group string) error {
	for pauses := untilEnded(); ; {
		err := os.WriteFile(filepath.Join(group, "cgroup.kill"), []byte("1"), 0) //nolint:gosec // as above
		if err == nil {
			err = removeGroup(group)
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		wait := time.NewTimer(pauses.Next())
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("the processes of control group %s do not end: %w", group, err)
		}
	}
}

// removeGroup removes a control group and the groups below it. It fails while one
// of them has processes.
func removeGroup(group string) error {
	var dirs []string
	err := filepath.WalkDir(group, func(path string, e fs.DirEntry, err error) error { //nolint:gosec // as above
		if err == nil && e.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list its contents: %w", err)
	}
	for _, dir := range slices.Backward(dirs) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// inOwnSession makes a supervisor start in a session of its own, so that signals of the
// server's terminal do not reach it.
func inOwnSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
