package runner

import (
	"context"
	"fmt"
	"sync"

	"github.com/wasmjob/wasmjob/host/trace"
)

// finalRows is a book that also checks that no run ends twice.
type finalRows struct {
	book
	breach func(format string, args ...any)

	last sync.Mutex           // guards ends
	ends map[string]trace.Row // the last row of each run
}

func (f *finalRows) Write(ctx context.Context, batch []trace.Row) error {
	for _, r := range batch {
		f.end(r)
	}
	return f.book.Write(ctx, batch)
}

func (f *finalRows) end(r trace.Row) {
	if !r.State.Final() {
		return
	}
	f.last.Lock()
	defer f.last.Unlock()
	run := fmt.Sprintf("%s/%d/%s", r.Job, r.Item, r.Run)
	if o, ok := f.ends[run]; ok && (o.Attempt != r.Attempt || o.State != r.State) {
		f.breach("%s has two last rows: attempt %d %s, and attempt %d %s", run, o.Attempt, o.State, r.Attempt, r.State)
	}
	f.ends[run] = r
}

// final reports whether the book has the last row of a run.
func (f *finalRows) final(run string) bool {
	f.last.Lock()
	defer f.last.Unlock()
	_, ok := f.ends[run]
	return ok
}
