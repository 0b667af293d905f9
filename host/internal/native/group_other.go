//go:build !unix

package native

import (
	"os"
	"os/exec"
)

// There are no groups of processes here: what a command starts is its own
// business.
func ownGroup(*exec.Cmd) {}

func terminate(p *os.Process) { _ = p.Kill() } // it may be over

func kill(p *os.Process) { _ = p.Kill() } // it may be over
