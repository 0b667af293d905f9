package zktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Freeze stops the process until it gets SIGCONT. It returns when all threads have stopped:
// after a signal alone, threads continue for a moment.
func (s *Server) Freeze() {
	s.t.Helper()
	s.Signal(syscall.SIGSTOP)
	ask := time.NewTicker(askEvery)
	defer ask.Stop()
	for !s.frozen() {
		select {
		case <-ask.C:
		case <-s.process.ended:
			s.t.Fatalf("%s ended:\n%s", s.address, s.Output())
		}
	}
}

// frozen reports whether every thread of the process is stopped.
func (s *Server) frozen() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.process.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			return false
		}
		// The state follows the name, which is in parentheses.
		if k := strings.LastIndex(string(text), ") "); k < 0 || !strings.HasPrefix(string(text[k:]), ") T") {
			return false
		}
	}
	return true
}
