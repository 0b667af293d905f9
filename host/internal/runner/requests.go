package runner

import (
	"context"
	"slices"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// requests are what callers ask of a job. They are kept until a member answers. A member
// first receives the waiting ones, and then new ones as they come.
type requests struct {
	mu     sync.Mutex  // guards the fields below: callers and the loop share them
	file   *job.Config // the newest server file: Options.Config or its replacement by Redefine
	asks   map[int64]*pendingAsk
	newest int64  // id of the newest ask
	inbox  *inbox // of the member; nil if there is none
	closed bool
}

// pendingAsk is an ask without an answer.
type pendingAsk struct {
	ask   protocol.Ask
	reply chan error // buffered for one answer
}

// Ask passes a request to the core and waits for its answer. A request made without a
// registry session waits for one. The error is a *Refusal, ErrStopped, ErrSession,
// ErrBusy or the error of ctx.
func (r *Runner) Ask(ctx context.Context, a protocol.Ask) error {
	p := &pendingAsk{ask: a, reply: make(chan error, 1)}
	id, err := r.requests.add(p)
	if err != nil {
		return err
	}
	select {
	case err := <-p.reply:
		return err
	case <-ctx.Done():
		r.requests.withdraw(id)
		return ctx.Err()
	}
}

// Redefine replaces the configuration that the server's own file gives the job, as if the
// job had been started with it. c must have the same name and must not be changed
// afterwards. Redefine returns at once. It requires Define.
func (r *Runner) Redefine(c *job.Config) { r.requests.redefine(c) }

// add keeps an ask and returns its id. The member gets it now, or the next one when it
// begins.
func (q *requests) add(p *pendingAsk) (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return 0, ErrStopped
	case len(q.asks) >= maxAsks:
		return 0, ErrBusy
	}
	q.newest++
	if q.asks == nil {
		q.asks = map[int64]*pendingAsk{}
	}
	q.asks[q.newest] = p
	q.send(askMessage{protocol.Asked{ID: q.newest, Ask: p.ask}})
	return q.newest, nil
}

// withdraw removes an ask that its caller no longer waits for.
func (q *requests) withdraw(id int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.asks, id)
	q.send(inputMessage{protocol.Unasked{ID: id}})
}

// redefine is Redefine.
func (q *requests) redefine(c *job.Config) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.file = c
	q.send(redefineMessage{})
}

// newestFile returns what Redefine has set last.
func (q *requests) newestFile() *job.Config {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.file
}

// send passes a message to the member, if there is one. mu is held.
func (q *requests) send(m message) {
	if q.inbox != nil {
		q.inbox.put(m)
	}
}

// attach makes inbox the receiver of requests. It first puts the newest file, unless that
// is known, the file with which the member was made, and then the waiting asks.
func (q *requests) attach(inbox *inbox, known *job.Config) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inbox = inbox
	if q.file != known {
		q.send(redefineMessage{})
	}
	for id := int64(1); id <= q.newest; id++ {
		if p := q.asks[id]; p != nil {
			q.send(askMessage{protocol.Asked{ID: id, Ask: p.ask}})
		}
	}
}

// waiting returns the asks whose callers still wait.
func (q *requests) waiting(asks []protocol.Asked) []protocol.Asked {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.DeleteFunc(asks, func(a protocol.Asked) bool { return q.asks[a.ID] == nil })
}

// detach fails the requests that the member left unanswered.
func (q *requests) detach() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.inbox != nil {
		q.inbox = nil
		q.failAll(ErrSession)
	}
}

// close fails all requests, waiting and future ones.
func (q *requests) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inbox, q.closed = nil, true
	q.failAll(ErrStopped)
}

// failAll answers all asks with an error. mu is held.
func (q *requests) failAll(err error) {
	for id, p := range q.asks {
		p.reply <- err
		delete(q.asks, id)
	}
}

// answer answers an ask; fault says why the core has refused it, or is empty.
func (q *requests) answer(id int64, fault string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.asks[id]
	if p == nil {
		return // the caller no longer waits
	}
	delete(q.asks, id)
	if fault != "" {
		p.reply <- &Refusal{fault}
		return
	}
	p.reply <- nil
}
