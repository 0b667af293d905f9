package alert

import (
	"context"
	"maps"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

const (
	// lookBack limits the search for the newest instant whose run should have ended.
	lookBack = 400 * 24 * time.Hour
	// lookLate is the time between two checks of a late job.
	lookLate = 10 * time.Second
)

// late checks the jobs whose expected end has passed. due has the time of the next check of
// each job, which late updates: when the next run should have ended, or soon for a job that is
// late.
func (w *Watcher) late(ctx context.Context, due map[string]time.Time) {
	now := w.now()
	all := w.expecting()
	w.see(all)
	for name, of := range all {
		if now.Before(due[name]) || ctx.Err() != nil {
			continue
		}
		if w.value.Silenced(name, now.UnixMilli()) {
			due[name] = now.Add(lookLate)
			continue
		}
		s, err := schedule.Compile(of.timing.Cron, of.timing.Dialect, of.timing.TimeZone)
		if err != nil {
			due[name] = now.Add(again) // the faults of the job report it
			continue
		}
		latest := schedule.Newest(s, now.Add(-of.expect.Within-lookBack), now.Add(-of.expect.Within), 1)
		next := s.Next(now.Add(-of.expect.Within))
		if due[name] = next.Add(of.expect.Within); next.IsZero() {
			due[name] = now.Add(again)
		}
		if len(latest) > 0 && w.isLate(ctx, name, &of, latest[0]) {
			due[name] = now.Add(lookLate)
		}
	}
}

// isLate checks whether the runs of a job for an instant, and for those before, have ended, and
// queues a fact if the job has become late or is no longer. It reports whether to check the job
// again soon. of is what alerts need of its configuration.
func (w *Watcher) isLate(ctx context.Context, name string, of *watched, instant time.Time) bool {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := w.in.Report(within, name)
	if err != nil { // the registry does not answer
		return true
	}
	behind, is, unsure := late(r, instant, w.seen[name])
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now().UnixMilli()
	f := fact{job: name, kind: Late, items: behind, count: 1, at: now, when: now, notify: of.notify}
	before := w.lateAt[name]
	switch {
	case unsure && !is: // an alert of the server that checked before stays
		return w.isAlerting(name)
	case !is:
		delete(w.lateAt, name)
		if f.over = true; w.isAlerting(name) {
			w.add(f)
		}
	case !before.Equal(instant):
		w.lateAt[name] = instant
		f.text = "no end within " + of.expect.Within.String() + " of " + instant.UTC().Format(time.RFC3339)
		w.add(f)
	}
	return is
}

// see notes when this server first saw each of the jobs, and forgets all others.
func (w *Watcher) see(all map[string]watched) {
	maps.DeleteFunc(w.seen, func(name string, _ time.Time) bool { _, is := all[name]; return !is })
	for name := range all {
		if _, known := w.seen[name]; !known {
			w.seen[name] = w.now()
		}
	}
}

// late returns the items whose runs for an instant, or an earlier one, have not ended, and
// whether the job is late by that. An item counts from its first assignment, and before that
// from seen, when this server first saw the job. If that was after the instant, late is unsure: a
// server that saw the job before may have found it late. A job that an operator has paused or
// disabled is not late. One without items is, unless that is unsure.
func late(r *operator.JobReport, instant, seen time.Time) (behind []int, is, unsure bool) {
	if r.Paused || r.EndedPause.Has(instant) || r.State == "disabled" {
		return nil, false, false
	}
	unsure = len(r.Items) == 0 && !seen.Before(instant)
	for i := range r.Items {
		it := &r.Items[i]
		since, open := it.Accounted, false
		if since.IsZero() {
			since = seen
			unsure = unsure || !it.Disabled && !seen.Before(instant)
		}
		switch run := &it.Run; {
		case run.Cause == "trigger" || run.Instant.IsZero(): // it is for no instant
		case run.Request != "": // a requested retry or backfill concerns only its own instant
			open = run.Instant.Equal(instant)
		default:
			open = !run.Instant.After(instant)
		}
		if !it.Disabled && (since.Before(instant) || open || !it.Retry.IsZero()) {
			behind = append(behind, it.Item)
		}
	}
	return behind, len(behind) > 0 || len(r.Items) == 0 && !unsure, unsure
}

// expecting returns the jobs that are expected to end in time: those with notifiers, a schedule
// and the setting expect.within.
func (w *Watcher) expecting() map[string]watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := maps.Clone(w.own)
	maps.Copy(all, w.jobs)
	maps.DeleteFunc(all, func(_ string, of watched) bool {
		return len(of.notify) == 0 || of.expect.Within <= 0 || of.timing.Cron == ""
	})
	return all
}

// Use sets the jobs of the server's own file.
func (w *Watcher) Use(jobs []job.Config) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own = map[string]watched{}
	for i := range jobs {
		delete(w.jobs, jobs[i].Name) // the next run brings the definition in the registry
		if len(jobs[i].Notify) > 0 {
			w.own[jobs[i].Name] = watchedOf(&jobs[i])
		}
	}
	w.poke()
}
