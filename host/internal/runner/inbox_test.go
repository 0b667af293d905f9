package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Ends share a message only as long as nothing else comes between them.
func TestEndsThatComeTogether(t *testing.T) {
	t.Parallel()
	end := func(i int) protocol.End {
		return protocol.End{Entry: protocol.Entry{Item: i}, State: protocol.Succeeded}
	}
	var b inbox
	for i := range 3 {
		b.ended(end(i))
	}
	b.put(syncedMessage{})
	b.ended(end(3))
	messages, _, more := b.takeAll(nil)
	if !more {
		t.Fatal("there are no messages")
	}
	b.ended(end(4)) // into a message of its own: the loop handles the others already
	rest, _, _ := b.takeAll(nil)
	var got [][]int
	for _, l := range append(messages, rest...) {
		var items []int
		if ends, ok := l.(*endsMessage); ok {
			for _, e := range ends.ends {
				items = append(items, e.Entry.Item)
			}
		}
		got = append(got, items)
	}
	if d := cmp.Diff([][]int{{0, 1, 2}, nil, {3}, {4}}, got); d != "" {
		t.Error(d)
	}
}
