package host

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/internal/queue"
)

// outputs are what a Host tells its caller by: the log and the observer. Neither
// may hold up a job, however long it blocks.
type outputs struct {
	log, events *queue.Queue
	ours        bool // the log's queue is: it ends with the Host
	warn        *slog.Logger
}

// flushPatience is how long the end of a Host waits for each of them.
const flushPatience = 2 * time.Second

// detach puts queues before the log and the observer.
func (o *Options) detach() (out outputs) {
	h, queued := o.Log.Handler().(queue.Handler) // as serve's is
	if !queued {
		h = queue.NewHandler(o.Log.Handler())
		o.Log = slog.New(h)
	}
	out.log, out.ours, out.warn = h.Queue, !queued, o.Log
	observe, log := o.Observe, o.Log
	if observe == nil {
		return out
	}
	out.events = queue.New(
		func() { log.Error("the observer of runs does not return, so it will not hear of some") },
		func(dropped int64) {
			log.Warn("the observer of runs has returned", "events_lost", dropped)
		})
	o.Observe = func(e Event) { out.events.Put(e.size(), func() { observe(e) }) }
	return out
}

// eventSize is about what an Event occupies beside the texts of its outcome.
const eventSize = 1 << 10

func (e *Event) size() int {
	return eventSize + len(e.Outcome.Result) + len(e.Outcome.Shown) + len(e.Outcome.Error) + len(e.Reason.Args)
}

// flush lets them have what they were not told yet, if they take it in time. What
// they do not is dropped: neither is called after the Host has ended, but for a
// call that has begun.
func (out outputs) flush() {
	if q := out.events; q != nil && !q.Flush(flushPatience) {
		out.warn.Warn("the observer of runs did not take all events in time", "events_lost", q.Close())
	}
	if q := out.log; !q.Flush(flushPatience) && out.ours {
		q.Close()
	}
}

// troubles says what is lost at present.
func (out outputs) troubles() (all []reason.Reason) {
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
