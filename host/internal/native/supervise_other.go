//go:build !unix

package native

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Supervise does not know how to end what a command starts on this system.
func Supervise(_ []string, _ io.Reader, say io.Writer) int {
	fmt.Fprintln(say, "commands of the operating system cannot be supervised on this system")
	return 1
}

func identity(*os.File) (string, error) {
	return "", errors.New("this system cannot do it")
}

func apart(*exec.Cmd) {}

func bootTime() int64 { return 0 }
