package runner

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

var (
	seeds = flag.Uint64("seeds", 10, "how many seeds TestFaultyRegistry plays")
	from  = flag.Uint64("from", 0, "the first of them")
)

// storyLevel is the level at which servers log into a story: everything if a single seed
// is played.
func storyLevel() slog.Level {
	if *seeds == 1 {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// TestFaultyRegistry runs real servers, with a fake clock, sandbox and network, through
// the events that a seed draws. The seed determines the events and their times, but not
// the order of goroutines within one moment, so reproducing a broken promise can take
// several tries.
func TestFaultyRegistry(t *testing.T) {
	t.Parallel()
	for seed := *from; seed < *from+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playSeed(t, seed) })
	}
}

// TestFaultyRegistryMended plays seeds that once broke a promise. They reproduce it only
// as long as plans are drawn in the same way.
func TestFaultyRegistryMended(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		broke string
		seed  uint64
	}{
		{"a guest begins in a moment of trust and is not told of the doubt after it", 8800027},
		{"a guest begins in a moment of trust on another server", 8800227},
		{"a guest begins in a moment of trust, alone", 8800249},
		{"a stranger's mark goes with its item", 8800111},
		{"a line that two close has a commit under way", 9200186},
		{"an item is enabled on one server right after it was disabled on another", 6300086},
	} {
		t.Run(c.broke, func(t *testing.T) { playSeed(t, c.seed) })
	}
}

func playSeed(t *testing.T, seed uint64) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFaultyWorld(t, seed)
		w.play()
		t.Logf("%d sessions, rows %v", w.sessions(), w.rows.states())
		if t.Failed() {
			t.Logf("again: go test ./host/internal/runner -run '^TestFaultyRegistry$' -count=20 -failfast -args -seeds=1 -from=%d\n%s", seed, strings.Join(w.story.lines, "\n"))
		}
	})
}

func (w *faultyWorld) play() {
	defer func() {
		if err := errors.Join(w.operator.Close(), w.reg.Close()); err != nil {
			w.t.Error(err)
		}
	}()
	var busy sync.WaitGroup
	for _, s := range w.servers {
		s.start()
	}
	for _, e := range w.events {
		w.pass(time.Until(w.begun.Add(e.at)))
		w.story.add("%s", e.text)
		busy.Go(func() { e.do(w) })
	}
	w.pass(time.Until(w.begun.Add(w.length)))
	for _, s := range w.servers {
		s.network.sound()
	}
	busy.Wait()
	w.story.add("nothing is wrong any more")
	w.restoreAll()
	w.pass(calmTime)
	w.checkCalm()
	for _, s := range w.servers {
		busy.Go(s.stop)
	}
	busy.Wait()
	w.checkRows()
	for _, fault := range w.seen.found() {
		w.breach("%s", fault)
	}
}

// sessions counts the sessions that the service has seen.
func (w *faultyWorld) sessions() (n int) {
	for _, s := range w.servers {
		n += len(s.network.sessions)
	}
	return n
}

// restoreAll starts all servers, and lifts everything that operators have forbidden, even if
// another server was asked for it a moment before.
func (w *faultyWorld) restoreAll() {
	for _, s := range w.servers {
		s.start()
	}
	for _, c := range w.jobs {
		r := w.servers[0].runner(c.Name)
		asks := []protocol.Ask{protocol.AskPause{}}
		for k := range w.servers {
			asks = append(asks, protocol.AskServer{IP: ipOf(k)})
		}
		for k := range 5 {
			asks = append(asks, protocol.AskItem{Item: k})
		}
		for _, a := range asks {
			for {
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
				err := r.Ask(ctx, a)
				cancel()
				if err == nil || errors.As(err, new(*Refusal)) {
					break
				}
				if !errors.Is(err, ErrSession) {
					w.breach("%#v of %s gets no answer: %v", a, c.Name, err)
					break
				}
			}
		}
	}
}

// checkCalm checks that some time after the last fault each item fires, and no server has
// a trouble.
func (w *faultyWorld) checkCalm() {
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	w.pass(firesTime)
	w.checkFiles()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.jobs {
		for _, s := range w.servers {
			r := s.runner(c.Name)
			if r == nil {
				w.breach("%s has not found %s", s.ip, c.Name)
				continue
			}
			status := r.Status()
			if len(status.Troubles) > 0 || status.Instance == "" || len(status.Instances) != len(w.servers) {
				w.breach("%s on %s: %q is one of %q, troubles %q", c.Name, s.ip, status.Instance, status.Instances, status.Troubles)
			}
			for k := range status.Config.Shards {
				if w.fired[itemOf{c.Name, k}] == 0 {
					w.breach("item %d of %s does not fire any more: %s says %+v", k, c.Name, s.ip, status.Items)
				}
			}
		}
	}
}

// checkRows checks that no member is in the registry when all servers have left, and that
// the rows of the unchanged job agree with its schedule.
func (w *faultyWorld) checkRows() {
	for _, c := range w.jobs {
		for _, path := range w.below(layout.NewJob("test", c.Name).Root()) {
			if n := w.read(path); n.Stat.Owner != 0 {
				w.breach("%s is there after all have left", path)
			}
		}
	}
	c := w.jobs[0]
	period, err := time.ParseDuration(c.Cron)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range w.rows.findings(w.t, c.Name, c.Shards, period) {
		w.breach("%s", f)
	}
}

func (w *faultyWorld) read(path string) registry.Node {
	n, err := w.operator.Read(w.t.Context(), path)
	if err != nil {
		w.t.Error(err)
	}
	return n
}

// below lists a node and all nodes below it, children first.
func (w *faultyWorld) below(path string) (all []string) {
	n := w.read(path)
	for _, name := range n.Children {
		all = append(all, w.below(path+"/"+name)...)
	}
	if n.Exists {
		all = append(all, path)
	}
	return all
}

// remove removes a job from the registry while none of its items runs, as
// operator.Operator does, and after a while creates it again, as a starting server does.
func (w *faultyWorld) remove(name string, away time.Duration) {
	l := layout.NewJob("test", name)
	for range 20 {
		decoder, ops, whole := l.NewDecoder(nil), []registry.Op(nil), true
		for _, path := range w.below(l.Root()) {
			n := w.read(path)
			whole = whole && n.Exists
			decoder.Apply(path, n)
			ops = append(ops, registry.Op{Kind: registry.Delete, Path: path, Version: n.Stat.Version})
		}
		runs := decoder.View().Runs
		if whole && len(ops) > 0 && !slices.ContainsFunc(runs, func(r protocol.Runs) bool { return len(r.Open) > 0 }) {
			if _, err := w.operator.Commit(w.t.Context(), ops...); err == nil {
				w.story.add("%s is removed", name)
				w.mu.Lock()
				clear(w.strange) // the marks of the job are gone
				w.mu.Unlock()
				w.pass(away)
				v := decoder.View()
				setup := l.Encode(protocol.Setup{Definition: v.Definition}, l.NewDecoder(nil).View())
				if _, err := w.operator.Commit(w.t.Context(), setup...); err != nil {
					w.story.add("%s is not made anew: %v", name, err)
				}
				return
			}
		}
		w.pass(300 * time.Millisecond)
	}
}
