package host

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/internal/native/nativetest"
)

// TestMain lets a test start this binary as the supervisor of a command.
func TestMain(m *testing.M) {
	nativetest.Serve(Supervise)
	goleak.VerifyTestMain(m)
}
