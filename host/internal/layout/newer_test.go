package layout

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// While a cluster is upgraded, servers of the release before read what newer ones
// write: a value of the same version may have keys that they do not know.
func TestKeysOfANewerReleaseArePassedOver(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	runs, assignment := anyRuns(rng), anyAssignment(rng)
	pending := protocol.Pending{Item: 7, Entry: anyEntry(rng, 7), Dead: "10.0.0.1@-@1"}
	fires := protocol.Fires{Started: protocol.Telling{Instant: 5000, Attempt: 1}}
	member := encodeMember(protocol.Join{Labels: map[string]string{"zone": "a"}}, protocol.Ready{})
	for name, c := range map[string]struct {
		value []byte
		read  func([]byte) (any, error)
	}{
		"record":     {encodeRuns(&runs), func(b []byte) (any, error) { return decodeRuns(b) }},
		"assignment": {encodeAssignment(&assignment), func(b []byte) (any, error) { return decodeAssignment(b) }},
		"pending":    {encodePending(&pending), func(b []byte) (any, error) { return decodePending(7, b) }},
		"fires":      {encodeFires(&fires), func(b []byte) (any, error) { return decodeFires(b) }},
		"member":     {[]byte(member), func(b []byte) (any, error) { return decodeMember(b), nil }},
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
