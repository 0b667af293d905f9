package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// patience is how long a guest may go on after it was ended before somebody is
// told. The sandbox ends modules at once; a job written in Go can ignore its
// context, and then neither the next session nor the end of the server comes
// before it returns.
const patience = 5 * time.Second

// stuck are the guests that ignore their end.
type stuck struct {
	mu     sync.Mutex // guards guests: each guest's watcher writes it
	guests []stuckGuest
}

type stuckGuest struct {
	*guest
	since time.Time
}

func (s *stuck) add(g *guest, since time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guests = append(s.guests, stuckGuest{g, since})
	return s.text()
}

func (s *stuck) remove(g *guest) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guests = slices.DeleteFunc(s.guests, func(o stuckGuest) bool { return o.guest == g })
	return s.text()
}

// text is "" if there is none.
func (s *stuck) text() string {
	var all []string
	for _, g := range s.guests {
		all = append(all, fmt.Sprintf("item %d of %s, ended at %s", g.entry.Item, g.call.Config.Name, g.since.UTC().Format(time.RFC3339)))
	}
	return strings.Join(all, "; ")
}

// watched runs the guest, and tells of it if it goes on after ctx has ended.
func (m *member) watched(ctx context.Context, g *guest, run func()) {
	gone, told := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		m.overstays(g, gone)
	})
	run()
	close(gone)
	if !stop() {
		<-told
	}
}

func (m *member) overstays(g *guest, gone <-chan struct{}) {
	since := time.Now()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-gone:
		return
	case <-t.C:
	}
	m.Log.Error("a guest ignores its end; until it returns the job does not go on here, nor does the server stop",
		"item", g.entry.Item, "run", g.call.RunID, "ended_at", since)
	m.troubles.set(troubleGuest, m.stuck.add(g, since))
	<-gone
	m.Log.Info("the guest has returned at last", "item", g.entry.Item, "run", g.call.RunID, "late", time.Since(since).String())
	m.troubles.set(troubleGuest, m.stuck.remove(g))
}
