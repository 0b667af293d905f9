package runner

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// overstayTime is how long a guest may go on after it was ended before that is reported.
// The sandbox ends modules at once. A job written in Go can ignore its context; then the
// next member and the end of the server wait for it.
const overstayTime = 5 * time.Second

// stuck lists the guests that go on although they were ended.
type stuck struct {
	mu     sync.Mutex // guards guests, which the timers of all guests change
	guests []stuckGuest
}

// stuckGuest is a guest that goes on, and since when it should have returned.
type stuckGuest struct {
	*guest
	since time.Time
}

// add adds a guest and returns the text of the list.
func (s *stuck) add(g *guest, since time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guests = append(s.guests, stuckGuest{g, since})
	return s.text()
}

// remove removes a guest that has returned and returns the text of the list.
func (s *stuck) remove(g *guest) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guests = slices.DeleteFunc(s.guests, func(o stuckGuest) bool { return o.guest == g })
	return s.text()
}

// text lists the guests; "" if there are none. mu is held.
func (s *stuck) text() string {
	var all []string
	for _, g := range s.guests {
		all = append(all, fmt.Sprintf("item %d of %s, ended at %s", g.entry.Item, g.call.Config.Name, g.since.UTC().Format(time.RFC3339)))
	}
	return strings.Join(all, "; ")
}

// kill ends the guest. A guest that goes on is reported.
func (g *guest) kill() {
	g.end()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.returned || g.watch != nil {
		return
	}
	since := time.Now()
	g.watch = time.AfterFunc(overstayTime, func() { g.reportOverstay(since) })
}

// reportOverstay reports a guest that ignores its end, unless it has returned.
func (g *guest) reportOverstay(since time.Time) {
	g.overstaying.Lock()
	defer g.overstaying.Unlock()
	g.mu.Lock()
	returned := g.returned
	g.mu.Unlock()
	if returned {
		return
	}
	g.overstaysSince = since
	m := g.member
	m.Log.Error("a guest ignores its end; until it returns, the job cannot go on here and the server cannot stop",
		"item", g.entry.Item, "run", g.call.RunID, "ended_at", since)
	m.troubles.set(troubleGuest, m.stuck.add(g, since))
}

// markReturned records that the guest has returned. If it was reported because it ignored
// its end, the report is withdrawn. A report that is just being made is awaited first.
func (g *guest) markReturned() {
	g.mu.Lock()
	g.returned = true
	watch := g.watch
	g.mu.Unlock()
	if watch == nil || watch.Stop() {
		return
	}
	g.overstaying.Lock()
	defer g.overstaying.Unlock()
	if g.overstaysSince.IsZero() {
		return
	}
	m := g.member
	m.Log.Info("the guest has returned at last", "item", g.entry.Item, "run", g.call.RunID, "late", time.Since(g.overstaysSince).String())
	m.troubles.set(troubleGuest, m.stuck.remove(g))
}
