package runner

import (
	"context"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	// maxReaders bounds the reads that are under way at once: a service that
	// pipelines answers so many in little more than one round trip.
	maxReaders = 16
	// readAgain keeps a read that failed from being repeated in a circle.
	readAgain = 200 * time.Millisecond
)

// fetcher issues the mirror's reads. Its goroutines live only while there is
// something to read.
type fetcher struct {
	session registry.Session
	box     *mailbox
	work    *sync.WaitGroup

	mu      sync.Mutex // guards what follows
	waiting []mirror.Read
	readers int
}

// fetch reads what is wanted; each answer is put into the mailbox.
func (f *fetcher) fetch(ctx context.Context, reads []mirror.Read) {
	if len(reads) == 0 {
		return
	}
	f.mu.Lock()
	f.waiting = append(f.waiting, reads...)
	more := min(len(f.waiting), maxReaders-f.readers)
	f.readers += more
	f.mu.Unlock()
	for range more {
		f.work.Go(func() { f.read(ctx) })
	}
}

func (f *fetcher) read(ctx context.Context) {
	for {
		r, ok := f.next()
		if !ok {
			return
		}
		n, err := f.session.Read(ctx, r.Path, true)
		if err != nil {
			sleep(ctx, readAgain)
		}
		f.box.put(replyLetter{read: r, node: n, err: err})
	}
}

func (f *fetcher) next() (mirror.Read, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		f.readers--
		return mirror.Read{}, false
	}
	r := f.waiting[0]
	f.waiting = f.waiting[1:]
	return r, true
}
