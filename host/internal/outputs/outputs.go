// Package outputs puts queues between a program and the log and observer of its
// caller, so that neither can block it. It does not decide what is reported, or
// how.
package outputs

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/internal/queue"
)

// Outputs are the queues in front of a log and an observer.
type Outputs struct {
	log, events *queue.Queue
	ours        bool         // the log's queue was made by Detach, so Flush ends it
	warn        *slog.Logger // receives what Flush has to report
}

// Patience is how long Flush waits for each queue.
const Patience = 2 * time.Second

// Detach puts queues in front of a log and an observer, and returns their replacements.
// size returns the approximate size of an event in bytes. The observer may be nil.
func Detach[E any](log *slog.Logger, observe func(E), size func(*E) int) (out Outputs, queuedLog *slog.Logger, queued func(E)) {
	h, ready := log.Handler().(queue.Handler) // the log of serve has a queue already
	if !ready {
		h = queue.NewHandler(log.Handler())
		log = slog.New(h)
	}
	out.log, out.ours, out.warn = h.Queue, !ready, log
	if observe == nil {
		return out, log, nil
	}
	out.events = queue.New(
		func() { log.Error("the observer of runs does not return, so it misses some events") },
		func(dropped int64) {
			log.Warn("the observer of runs has returned", "events_lost", dropped)
		})
	return out, log, func(e E) { out.events.Put(size(&e), func() { observe(e) }) }
}

// Flush waits a bounded time until log and observer have received everything. The
// rest is dropped: neither is called afterwards, except for a call that has begun.
func (out Outputs) Flush() {
	if q := out.events; q != nil && !q.Flush(Patience) {
		out.warn.Warn("the observer of runs did not take all events in time", "events_lost", q.Close())
	}
	if q := out.log; !q.Flush(Patience) && out.ours {
		q.Close()
	}
}

// Troubles returns what is being lost at present.
func (out Outputs) Troubles() (all []reason.Reason) {
	for _, of := range []struct {
		code reason.Code
		*queue.Queue
	}{{reason.LogStuck, out.log}, {reason.ObserverStuck, out.events}} {
		if of.Queue == nil {
			continue
		}
		if dropped, since := of.Stuck(); dropped > 0 {
			all = append(all, reason.Of(of.code, since.UTC().Format(time.RFC3339), strconv.FormatInt(dropped, 10)))
		}
	}
	return all
}
