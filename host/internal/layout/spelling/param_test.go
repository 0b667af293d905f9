package spelling

import (
	"bytes"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// A release that would begin a run with the job's parameter refuses the value with the run.
// Rows of ended runs do not make it refuse the record.
func TestRunsWithAParameterHaveAVersionOfTheirOwn(t *testing.T) {
	t.Parallel()
	e := protocol.Entry{Item: 1, Instant: 5000, Trigger: "t-1", Cause: protocol.Triggered, Attempt: 1, First: 4000}
	with := e
	with.Param = "east"
	open := func(e protocol.Entry) []byte {
		return EncodeRuns(&protocol.RunsData{Open: []protocol.Entry{{Item: 0, Instant: 1000, Attempt: 1}, e}})
	}
	waits := func(e protocol.Entry) []byte {
		return EncodeRuns(&protocol.RunsData{Retries: []protocol.Retry{{Entry: e}}})
	}
	for _, c := range []struct {
		what, begins string
		value        []byte
	}{
		{"an open run", `{"v":1,`, open(e)},
		{"an open run with a parameter", `{"v":2,`, open(with)},
		{"a retry", `{"v":1,`, waits(e)},
		{"a retry with a parameter", `{"v":2,`, waits(with)},
		{"a row of a run with a parameter", `{"v":1,`, EncodeRuns(&protocol.RunsData{Rows: []protocol.Row{{Seq: 1, Entry: with}}})},
		{"a pending run", `{"v":1,`, EncodePending(&protocol.Pending{Item: 1, Entry: e})},
		{"a pending run with a parameter", `{"v":2,`, EncodePending(&protocol.Pending{Item: 1, Entry: with})},
	} {
		if !bytes.HasPrefix(c.value, []byte(c.begins)) {
			t.Errorf("%s is written as %s", c.what, c.value)
		}
	}
}
