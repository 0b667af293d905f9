package zk

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// A request is one packet in each direction, however many nodes it reads. So nodes that are
// requested while others are being read are then read together. Two requests in flight keep the
// service busy while one of them travels.
const (
	maxBatches = 2
	// maxBatch and maxBatchPaths bound a request: the number of nodes, each with up to 1 MiB of
	// data, and the bytes of their paths.
	maxBatch      = 64
	maxBatchPaths = 128 << 10
)

// wish is a node that a caller waits for.
type wish struct {
	path   string
	answer chan found // has room for it
}

// get reads a node without its children, together with others that are requested at about the
// same time.
func (s *session) get(ctx context.Context, path string) (found, error) {
	if err := ctx.Err(); err != nil {
		return found{}, fmt.Errorf("%w: %w", errNotSent, err)
	}
	w := wish{path, make(chan found, 1)}
	if !s.want(w) {
		return found{}, registry.ErrEnded
	}
	bound := time.NewTimer(s.limit())
	defer bound.Stop()
	select {
	case f := <-w.answer:
		return f, f.err
	case <-ctx.Done():
		return found{}, fmt.Errorf("%w: %w", errLate, context.Cause(ctx))
	case <-bound.C:
		return found{}, fmt.Errorf("%w: %w", errLate, context.DeadlineExceeded)
	}
}

// want queues a node to be read; false if the session is over.
func (s *session) want(w wish) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOver() {
		return false
	}
	s.wishes = append(s.wishes, w)
	if s.batches < maxBatches {
		s.batches++
		s.registry.work.Go(s.readWishes)
	}
	return true
}

// readWishes reads one batch of nodes after the other, until no caller waits any more. If a batch
// fails, so does each of its reads.
func (s *session) readWishes() {
	runtime.Gosched() // so that callers of the same moment are included
	for batch := s.nextBatch(); len(batch) > 0; batch = s.nextBatch() {
		all, err := s.readBatch(batch)
		for i, w := range batch {
			if err != nil {
				w.answer <- found{err: err}
				continue
			}
			w.answer <- all[i]
		}
	}
}

// nextBatch returns the wishes that have waited longest, within the bounds of a request. If there
// are none, the goroutine that calls it ends, and no longer counts.
func (s *session) nextBatch() []wish {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, size := 0, 0
	for n < min(len(s.wishes), maxBatch) {
		if size += len(s.wishes[n].path); n > 0 && size > maxBatchPaths {
			break
		}
		n++
	}
	batch := s.wishes[:n:n]
	if s.wishes = s.wishes[n:]; len(s.wishes) == 0 {
		s.wishes = nil
	}
	if n == 0 {
		s.batches--
	}
	return batch
}

// readBatch reads nodes by one request. The library itself can read only one node, so many are a
// sync, which wire converts.
func (s *session) readBatch(batch []wish) ([]found, error) {
	if len(batch) == 1 {
		f, err := call(s.life, s, func() (found, error) {
			data, stat, err := s.conn.Get(batch[0].path)
			return found{data: data, stat: stat}, err //nolint:wrapcheck // the caller of call names it
		})
		return []found{f}, err
	}
	var path strings.Builder
	path.WriteString(readMark + pathEnd)
	for _, w := range batch {
		path.WriteString(w.path + pathEnd)
	}
	answer, err := call(s.life, s, func() (string, error) {
		return s.conn.Sync(path.String())
	})
	if err != nil {
		return nil, err
	}
	return readMany(answer, len(batch))
}
