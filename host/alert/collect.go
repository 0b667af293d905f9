package alert

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

const (
	// maxFacts is the limit of facts that wait to be written. Beyond it, a fact is still counted
	// if the last one of its job is similar; others are lost, with a warning.
	maxFacts = 4096
	// maxItems is the limit of items of all facts that wait. Beyond it, facts are lost as well.
	maxItems = 1 << 20
	// maxWatched is the limit of jobs of the registry that a server watches.
	maxWatched = 10_000
)

// watched is the part of a job's configuration that alerts need.
type watched struct {
	notify []string // sorted, each once, as alerts of the registry have them
	ignore bool     // failed runs raise no alert
	expect job.Expect
	timing job.Config // cron, dialect and time zone only
}

// watchedOf returns the part of c that alerts need.
func watchedOf(c *job.Config) watched {
	return watched{
		slices.Compact(slices.Sorted(slices.Values(c.Notify))), c.ErrorHandler == job.IgnoreErrors, c.Expect,
		job.Config{Name: c.Name, Cron: c.Cron, Dialect: c.Dialect, TimeZone: c.TimeZone},
	}
}

// attempt is an open run of this server that has a maximum duration.
type attempt struct {
	job, run   string
	item, rank int // rank is the number of the attempt
}

// Count is host.Options.Count. It does not block.
func (w *Watcher) Count(e *host.Event) {
	switch e.Kind {
	case host.EventStart:
		w.started(e)
	case host.EventEnd:
		w.mu.Lock()
		delete(w.open, attempt{e.Config.Name, e.Run, e.Item, e.Attempt})
		w.mu.Unlock()
	case host.EventRow:
		w.row(e.Row)
	}
}

// started notes what the job's configuration says now, and when the run that starts will have
// taken too long. A job without notifiers raises no alerts, whatever the server's file says.
func (w *Watcher) started(e *host.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := e.Config.Name
	_, inFile := w.own[name]
	if len(e.Config.Notify) == 0 && !inFile {
		delete(w.jobs, name)
		return
	}
	if before, known := w.jobs[name]; known || len(w.jobs) < maxWatched {
		w.jobs[name] = watchedOf(&e.Config)
		w.warnOfMissing(name, before.notify)
	}
	if most := e.Config.Expect.MaxDuration; most > 0 {
		w.open[attempt{name, e.Run, e.Item, e.Attempt}] = e.At.Add(most)
		w.poke()
	}
}

// warnOfMissing warns of notifiers of a job that this server does not have, except those in warned.
// mu is held.
func (w *Watcher) warnOfMissing(name string, warned []string) {
	for _, to := range w.jobs[name].notify {
		if w.notifiers[to] == nil && !slices.Contains(warned, to) {
			w.log.Warn("a job names a notifier that this server does not have; add it to [notify] of all servers", "job", name, "notifier", to)
		}
	}
}

// row turns a row into a fact, if the job has notifiers and the row shows a problem or, in a
// job with alerts or with facts that may become some, that the item has recovered.
func (w *Watcher) row(r *trace.Row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of, ok := w.watching(r.Job)
	if !ok {
		return
	}
	now := w.now().UnixMilli()
	f := fact{job: r.Job, items: []int{r.Item}, count: max(r.Count, 1), at: now, when: happened(r, now), notify: of.notify}
	switch f.kind = wrong(r); {
	case f.kind == Failed && of.ignore: // the job's error handler says so
	case f.kind != "":
		f.text = strings.Join(strings.Fields(cmp.Or(r.Error, r.Reason.String())), " ") // one line
		if f.bare = f.text == ""; f.bare {
			f.text = string(r.State)
		}
		w.add(f)
	case r.State == trace.Succeeded && (w.alerting[clustertree.AlertJob(r.Job)] || w.lastOf[r.Job] != nil):
		f.over, f.instant = true, cmp.Or(r.Instant, now)
		w.add(f)
	}
}

// happened returns when the run of row r ended or was last known to run, or the newest instant
// that was missed: in ms, and not after now, as clocks differ.
func happened(r *trace.Row, now int64) int64 {
	at := max(r.Start, r.End)
	if r.State == trace.Missed {
		at = max(r.Instant, r.Last)
	}
	return min(cmp.Or(at, now), now)
}

// watching returns what alerts need of a job's configuration, from the server's own file if no
// run of the job has begun here. mu is held.
func (w *Watcher) watching(name string) (watched, bool) {
	of, ok := w.jobs[name]
	if !ok {
		of = w.own[name]
	}
	return of, len(of.notify) > 0
}

// add queues a fact, or merges it into the last fact of its job if that is similar. Of the
// texts, the newest that is not bare stays. mu is held.
func (w *Watcher) add(f fact) {
	if last := w.lastOf[f.job]; last != nil && last.kind == f.kind && last.over == f.over && last.instant == f.instant {
		if !f.bare {
			last.text, last.bare = f.text, false
		}
		last.count, last.at, last.when, last.notify = last.count+f.count, f.at, max(last.when, f.when), f.notify
		w.addItems(last, f.items)
		return
	}
	if len(w.facts) >= maxFacts || w.items+len(f.items) > maxItems {
		w.lost++
		return
	}
	kept := new(f)
	w.items += len(f.items)
	w.facts = append(w.facts, kept)
	w.lastOf[f.job] = kept
	w.poke()
}

// addItems adds items to a fact that waits. mu is held.
func (w *Watcher) addItems(to *fact, items []int) {
	for _, i := range items {
		switch at, known := slices.BinarySearch(to.items, i); {
		case known:
		case w.items >= maxItems:
			w.lost++
		default:
			to.items = slices.Insert(to.items, at, i)
			w.items++
		}
	}
}

// take removes and returns the waiting facts, after it has added those of runs that take too
// long.
func (w *Watcher) take() []*fact {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for at, until := range w.open {
		if now.Before(until) {
			continue
		}
		delete(w.open, at)
		if of, ok := w.watching(at.job); ok {
			w.add(fact{
				job: at.job, kind: TooLong, items: []int{at.item}, count: 1, at: now.UnixMilli(), when: now.UnixMilli(), notify: of.notify,
				text: "a run takes longer than " + of.expect.MaxDuration.String(),
			})
		}
	}
	if w.lost > 0 {
		w.log.Warn("facts for alerts were lost, since the registry did not accept them in time", "facts", w.lost)
	}
	all := w.facts
	w.facts, w.lastOf, w.items, w.lost = nil, map[string]*fact{}, 0, 0
	return all
}

// putBack queues facts again that could not be written.
func (w *Watcher) putBack(all []*fact) {
	w.mu.Lock()
	defer w.mu.Unlock()
	newer := w.facts
	w.facts, w.lastOf, w.items = nil, map[string]*fact{}, 0
	for _, f := range append(all, newer...) {
		w.add(*f)
	}
}

// nextEnd returns the time until the first open run reaches its maximum duration, or most if
// that is less.
func (w *Watcher) nextEnd(most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for _, until := range w.open {
		most = min(most, max(until.Sub(now), 0))
	}
	return most
}

// poke wakes Run.
func (w *Watcher) poke() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// intended reports whether instants were missed because of an operator's decision.
func intended(why reason.Code) bool {
	wanted := []reason.Code{reason.JobPaused, reason.ItemDisabled, reason.ItemDidNotExist, reason.ServerDisabled, reason.NotBegunServerDisabled, reason.NotBegunJobRemoved}
	return slices.Contains(wanted, why)
}
