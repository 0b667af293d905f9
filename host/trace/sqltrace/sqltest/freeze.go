package sqltest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Freeze stops all processes of the server, as if its machine hung; Thaw lets them continue.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	s.process.signal(t, syscall.SIGSTOP)
}

// Thaw ends Freeze.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	s.process.signal(t, syscall.SIGCONT)
}

// signal sends a signal to the server and then to its children, which in PostgreSQL serve
// connections. A stopped server starts no new ones.
func (p *process) signal(t testing.TB, how syscall.Signal) {
	t.Helper()
	pid := p.cmd.Process.Pid
	var children []int
	if err := syscall.Kill(pid, how); err != nil {
		t.Fatal(err)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // state, parent
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				children = append(children, child)
			}
		}
	}
	for _, child := range children {
		_ = syscall.Kill(child, how) // it may have ended
	}
}
