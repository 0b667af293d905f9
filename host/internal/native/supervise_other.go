//go:build !unix

package native

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Supervise fails: on this system the processes that a command starts cannot be
// ended.
func Supervise(_ []string, _ io.Reader, say io.Writer) int {
	fmt.Fprintln(say, "this system cannot supervise commands of the operating system")
	return 1
}

func identity(*os.File) (string, error) {
	return "", errors.New("this system cannot do it")
}

func inOwnSession(*exec.Cmd) {}

func bootTime() int64 { return 0 }
