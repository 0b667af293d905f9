package runner

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// TestNoteSaysWhatToDo checks that a line about a blocked job has the cure beside the
// reason.
func TestNoteSaysWhatToDo(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := reporter{log: slog.New(slog.NewTextHandler(&log, nil)), troubles: &troubles{}}
	r.note(protocol.Note{Wrong: true, Why: reason.Of(reason.RecordWouldOverflow, "9", "8", "7")}, "10.0.0.1@-@1")
	if !strings.Contains(log.String(), `cure="shorten the runs, set a timeout, or add a server"`) {
		t.Errorf("the log says %s", &log)
	}
}
