package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Ends are one letter only as long as nothing else comes between them.
func TestEndsThatComeTogether(t *testing.T) {
	t.Parallel()
	end := func(i int) protocol.End {
		return protocol.End{Entry: protocol.Entry{Item: i}, State: protocol.Succeeded}
	}
	var b mailbox
	for i := range 3 {
		b.ended(end(i))
	}
	b.put(syncLetter{})
	b.ended(end(3))
	letters, _, more := b.take(nil)
	if !more {
		t.Fatal("there are no letters")
	}
	b.ended(end(4)) // into a letter of its own: the others are being read
	rest, _, _ := b.take(nil)
	var got [][]int
	for _, l := range append(letters, rest...) {
		var items []int
		if ends, ok := l.(*endsLetter); ok {
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
