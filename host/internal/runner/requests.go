package runner

import (
	"context"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

type pendingAsk struct {
	ask   protocol.Ask
	reply chan error // holds one
}

// Ask hands a wish to the core and waits for its answer. A wish made while
// there is no registry session waits for one. The error is a *Refusal,
// ErrStopped, ErrSession, ErrBusy or that of ctx.
func (r *Runner) Ask(ctx context.Context, a protocol.Ask) error {
	p := &pendingAsk{ask: a, reply: make(chan error, 1)}
	id, err := r.submit(p)
	if err != nil {
		return err
	}
	select {
	case err := <-p.reply:
		return err
	case <-ctx.Done():
		r.mu.Lock()
		delete(r.asks, id)
		if r.inbox != nil {
			r.inbox.put(inputMessage{protocol.Unasked{ID: id}})
		}
		r.mu.Unlock()
		return ctx.Err()
	}
}

func (r *Runner) submit(p *pendingAsk) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, ErrStopped
	case len(r.asks) >= maxAsks:
		return 0, ErrBusy
	}
	r.newestAsk++
	if r.asks == nil {
		r.asks = map[int64]*pendingAsk{}
	}
	r.asks[r.newestAsk] = p
	if r.inbox != nil {
		r.inbox.put(inputMessage{protocol.Asked{ID: r.newestAsk, Ask: p.ask}})
	}
	return r.newestAsk, nil
}

// attach lets a member hear the wishes, also those that waited for it, and of a file
// that was read while it was made.
func (r *Runner) attach(inbox *inbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inbox = inbox
	if r.own.Load() != r.file {
		inbox.put(redefineMessage{})
	}
	for id := int64(1); id <= r.newestAsk; id++ {
		if p := r.asks[id]; p != nil {
			inbox.put(inputMessage{protocol.Asked{ID: id, Ask: p.ask}})
		}
	}
}

// detach answers what the member left unanswered.
func (r *Runner) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inbox != nil {
		r.inbox = nil
		r.failAll(ErrSession)
	}
}

// close answers everything that waits, now and later.
func (r *Runner) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inbox, r.closed = nil, true
	r.failAll(ErrStopped)
}

func (r *Runner) failAll(err error) {
	for id, p := range r.asks {
		p.reply <- err
		delete(r.asks, id)
	}
}

func (r *Runner) answer(id int64, fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.asks[id]
	if p == nil {
		return // the caller has gone
	}
	delete(r.asks, id)
	if fault != "" {
		p.reply <- &Refusal{fault}
		return
	}
	p.reply <- nil
}
