package guest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The last argument that an Examiner passes to this test binary selects a mode.
const (
	examineMode = "examine"
	dieMode     = "die"
)

func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case examineMode:
		if err := ExamineInSubprocess(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case dieMode:
		fmt.Fprint(os.Stderr, "no memory is left\n\ngoroutine 1 [running]:\n")
		os.Exit(2)
	}
	goleak.VerifyTestMain(m)
}
