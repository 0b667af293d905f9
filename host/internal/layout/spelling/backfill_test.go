package spelling

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// A value that is not an ascending list of moments, or is longer than this release writes,
// is refused as a whole.
func TestBackfillsThatAreRefused(t *testing.T) {
	t.Parallel()
	long := protocol.Backfill{Instants: make([]int64, protocol.MaxBackfill+1)}
	for k := range long.Instants {
		long.Instants[k] = int64(k + 1)
	}
	for name, text := range map[string]string{
		"empty":           "",
		"another version": `{"v":2,"instants":[1]}`,
		"none":            `{"v":1,"instants":[]}`,
		"zero":            `{"v":1,"instants":[0]}`,
		"out of order":    `{"v":1,"instants":[2,1]}`,
		"twice":           `{"v":1,"instants":[1,1]}`,
		"no number":       `{"v":1,"instants":["1"]}`,
		"too many":        string(EncodeBackfill(&long)),
		"a long author":   string(EncodeBackfill(&protocol.Backfill{By: strings.Repeat("x", protocol.MaxBackfillBy+1), Instants: []int64{1}})),
	} {
		var f protocol.Backfill
		if err := DecodeBackfill(&f, []byte(text)); err == nil {
			t.Errorf("%s: it is read as %+v", name, f)
		}
	}
	long.Instants = long.Instants[:protocol.MaxBackfill]
	if err := DecodeBackfill(new(protocol.Backfill), EncodeBackfill(&long)); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
}
