package spelling

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// During an upgrade, servers of the previous release read values of newer ones. A value of
// the same version may have keys that they do not know.
func TestKeysOfANewerReleaseArePassedOver(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	runs, assignment := anyRuns(rng), anyAssignment(rng)
	pending := protocol.Pending{Item: 7, Entry: anyEntry(rng, 7), After: 7000, Dead: "10.0.0.1@-@1"}
	fires := protocol.Fires{Started: protocol.Call{Instant: 5000, Attempt: 1}}
	member := EncodeMember(protocol.Join{Labels: map[string]string{"zone": "a"}}, protocol.Ready{})
	for name, c := range map[string]struct {
		value []byte
		read  func([]byte) (any, error)
	}{
		"record":     {EncodeRuns(&runs), func(b []byte) (any, error) { return DecodeRuns(b) }},
		"assignment": {EncodeAssignment(&assignment), func(b []byte) (any, error) { return DecodeAssignment(b) }},
		"pending":    {EncodePending(&pending), func(b []byte) (any, error) { return DecodePending(7, b) }},
		"fires":      {EncodeFires(&fires), func(b []byte) (any, error) { return DecodeFires(b) }},
		"member":     {[]byte(member), func(b []byte) (any, error) { return DecodeMember(b), nil }},
	} {
		want, err := c.read(c.value)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		newer := append([]byte(`{"newer":{"key":[1]},`), c.value[1:]...)
		got, err := c.read(newer)
		if diff := cmp.Diff(want, got, same); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// A release that knows no codes reads the words of a row, and writes only words when it
// moves the row to another record.
func TestReasonsOfRowsForTheReleaseBefore(t *testing.T) {
	t.Parallel()
	d := protocol.RunsData{Seq: 2, Rows: []protocol.Row{
		{Seq: 1, Entry: protocol.Entry{Item: 0, Instant: 1000, Cause: protocol.Scheduled, Attempt: 1}, State: protocol.TakenOver, Why: reason.Of(reason.ServerGone)},
		{Seq: 2, Entry: protocol.Entry{Item: 1, Instant: 1000, Cause: protocol.Scheduled, Attempt: 1}, State: protocol.Retried, Why: reason.Text("it failed: busy")},
	}}
	value := EncodeRuns(&d)
	for _, want := range []string{`"why":"the server died or lost the registry","code":"server_gone"`, `"why":"it failed: busy"`} {
		if !bytes.Contains(value, []byte(want)) {
			t.Errorf("the record has no %s: %s", want, value)
		}
	}
	before := bytes.ReplaceAll(value, []byte(`,"code":"server_gone"`), nil)
	if bytes.Contains(before, []byte("code")) {
		t.Fatalf("the record of the release before has a code: %s", before)
	}
	got, err := DecodeRuns(before)
	if diff := cmp.Diff(d, got, same); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
