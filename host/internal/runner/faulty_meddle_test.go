package runner

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

// observeSessions is an additional job on a server's session. It creates nothing, and
// checks the session's promises to its jobs.
func (s *faultyServer) observeSessions(ctx context.Context, sessions *session.Server) {
	for ctx.Err() == nil {
		ended := make(endListener, 1)
		js, err := sessions.Open(ctx, layout.NewJob("test", "witness").Root(), ended)
		if err != nil {
			return // the server ends
		}
		for over := false; !over && ctx.Err() == nil; {
			s.checkHealth(js)
			select {
			case <-ended:
				over = true
			case <-ctx.Done():
			case <-time.After(margin / 2):
			}
		}
		if err := js.Close(context.WithoutCancel(ctx)); err != nil {
			s.breach("a job session that created nothing is not closed on %s: %v", s.ip, err)
		}
	}
}

// endListener notes the end of a session.
type endListener chan struct{}

func (h endListener) HealthChanged(session.Health) {}

func (h endListener) Event(e registry.Event) {
	if e.Kind == registry.Ended {
		h <- struct{}{}
	}
}

// checkHealth checks that no session is trusted for longer than the service keeps it,
// counted from the request that renewed it and including the time when the machine slept.
func (s *faultyServer) checkHealth(js *session.Job) {
	level, timeout := js.Health(), s.network.timeout
	for _, of := range s.network.opened() {
		if of.ID() != js.ID() {
			continue
		}
		if silent := of.silent(); level < session.Doubtful && silent >= timeout/2 || level < session.Lost && silent >= timeout*3/4 {
			s.breach("session %d of %s is trusted (%d) after %v of silence", of.ID(), s.ip, level, silent)
		}
	}
}

// observe checks that a run that was replaced does not begin again in its session.
func (s *faultyServer) observe(e *Event) {
	of := s.network.newest()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Kind == Start && s.replaced[of][e.Run]:
		s.breach("%s begins again on %s, attempt %d, after it was replaced", e.Run, s.ip, e.Attempt)
	case e.Kind == End && e.Reason.Code == reason.ReplacedByTrigger:
		if s.replaced[of] == nil {
			s.replaced[of] = map[string]bool{}
		}
		s.replaced[of][e.Run] = true
	}
}

// meddle lets a foreign process either replace the marks of runs for a while, or take the
// runs over for its own servers, for each item with such a mark.
func (w *faultyWorld) meddle(name, mark string, d time.Duration) {
	l := layout.NewJob("test", name)
	var made []string
	for _, item := range w.read(l.At("sharding")).Children {
		at := l.At("sharding") + "/" + item
		running, owner := w.read(at+"/running"), w.read(at+"/instance")
		if !running.Exists || !owner.Exists {
			continue
		}
		path := at + "/" + mark
		ops := []registry.Op{{Kind: registry.CreateEphemeral, Path: path, Data: owner.Data}}
		if mark == "running" {
			ops = []registry.Op{{Kind: registry.Delete, Path: path, Version: running.Stat.Version}, {Kind: registry.CreateEphemeral, Path: path}}
		}
		if _, err := w.operator.Commit(w.t.Context(), ops...); err != nil {
			continue // it has ended meanwhile
		}
		made = append(made, path)
		w.setStrange(path, time.Now())
		w.story.add("somebody has made %s", path)
	}
	w.pass(d)
	for _, path := range made {
		w.setStrange(path, time.Time{})
		_, err := w.operator.Commit(w.t.Context(), registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion})
		w.story.add("somebody takes %s away: %v", path, err)
	}
}

func (w *faultyWorld) setStrange(path string, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.strange[path] = since
}

// known is the time within which each member has noticed a new mark, or knows that it is
// cut off.
const known = 8 * time.Second

// spares checks that no member deletes a mark of another session, except with its item
// when the job gets fewer items. That item never begins again, so the mark would keep its
// node forever; a leader of ElasticJob deletes it, too.
func (w *faultyWorld) spares(ops []registry.Op, asked time.Time) {
	goes := func(path string) bool {
		return slices.ContainsFunc(ops, func(o registry.Op) bool { return o.Kind == registry.Delete && o.Path == path })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range ops {
		since := w.strange[ops[i].Path]
		if ops[i].Kind != registry.Delete || since.IsZero() {
			continue
		}
		w.strange[ops[i].Path] = time.Time{}
		if item := path.Dir(ops[i].Path); asked.Sub(since) > known && !goes(item) && !goes(item+"/instance") {
			w.breach("%s is taken away by a member, which has not made it", ops[i].Path)
		}
	}
}

// fenced looks for scheduled runs that were ended because of a doubtful session and that
// have a final row, although their next instant has not come, the session continues, and
// the server has neither left nor slept.
func (s *faultyServer) fenced(batch []trace.Row) {
	now := time.Now().UnixMilli()
	s.mu.Lock()
	since := s.stopped
	s.mu.Unlock()
	if woke := s.network.lastWoke(); woke.After(since) {
		since = woke // after a standstill its clock is behind, but the registry's instants have passed
	}
	for _, r := range batch {
		if r.Schedule == "" || r.State != trace.Cancelled || r.Reason.Code != reason.SessionDoubtful || s.changed[r.Job] || job.InstanceID(r.Instance).IP() != s.ip || since.UnixMilli() >= r.Start {
			continue
		}
		for _, c := range s.jobs {
			period, err := time.ParseDuration(c.Cron)
			if c.Name != r.Job || err != nil || c.OnRegistryLoss == job.FinishOnLoss || c.Overlap == job.Replace { // a replaced run does not run again
				continue
			}
			if next := (r.Instant/period.Milliseconds() + 1) * period.Milliseconds(); now < next {
				s.breach("%s is over on %s, as its session was in doubt, and does not run again before %d", r.Run, s.ip, next)
			}
		}
	}
}
