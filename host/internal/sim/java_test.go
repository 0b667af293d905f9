package sim

import (
	"bytes"
	"path"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// TestJavaAlone runs jobs that have only foreign members. In an undisturbed world each
// item runs once per instant, and everything comes to rest. So whatever breaks with
// members of ours was broken by them.
func TestJavaAlone(t *testing.T) {
	t.Parallel()
	for name, layout := range map[string]string{"2.1.5": "", "3.0.4": job.Layout3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var exact int64
			for seed := range uint64(100) {
				p := sharedJob()
				p.layout, p.members, p.java = layout, [2]int64{0, 1}, [2]int64{1, 5}
				r := run(seed, p, nil)
				exact += r.Exact
				if r.Breach != nil {
					var trace bytes.Buffer
					run(seed, p, &trace)
					t.Fatalf("seed %d broke %q:\n%s", seed, r.Breach.Invariant, lastLines(trace.String()))
				}
			}
			if exact < 60 {
				t.Errorf("%d instants were judged", exact)
			}
			t.Logf("%d instants were judged", exact)
		})
	}
}

// TestWakesInOrder checks that the order of a map does not change the trace of a seed.
func TestWakesInOrder(t *testing.T) {
	t.Parallel()
	for range 50 {
		var woken []string
		j := &jvm{gone: map[string][]func(){}}
		for _, p := range []string{"d", "b", "e", "a", "c"} {
			j.gone[p] = append(j.gone[p], func() { woken = append(woken, p) })
		}
		j.wakeAll()
		if !slices.IsSorted(woken) || len(woken) != 5 || j.gone != nil {
			t.Fatalf("woken: %v", woken)
		}
	}
}

// TestPlaceMadeTwice checks that a process that has two nodes for one place in a queue is
// restarted, whether it learns of its node by an answer or from a list. The node that it
// does not know would block the queue for good.
func TestPlaceMadeTwice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		sees     int64  // the nodes that the first list shows
		made     int    // nodes in the end
		takes    string // the node that the process takes for its own
		restarts bool
	}{
		{"the first is seen, there is no other", 1, 1, "place-latch-0000000000", false},
		{"the first is not seen", 0, 2, "place-latch-0000000001", true},
		{"the second is not seen", 1, 2, "place-latch-0000000000", true},
		{"both are seen", 2, 2, "place-latch-0000000000", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(1, drawn(1), sharedJob(), nil)
			w.setup()
			w.calm = true
			j := &jvm{w: w, label: "P", timeout: w.timeout, up: true}
			j.connect()
			latch := w.job.Root() + "/latch"
			w.apply(nil, []registry.Op{{Kind: registry.Create, Path: latch}}, origin{what: "latch"})
			seen := w.tree.Revision() + test.sees
			before := test.made
			if test.sees == 0 {
				before-- // the process makes another one
			}
			for range before {
				w.apply(j.s, []registry.Op{{Kind: registry.CreateEphemeralSequential, Path: latch + "/place-latch-"}}, origin{java: j, what: "late"})
			}
			took := ""
			j.s.replica = seen
			j.s.stall(10 * millisecond)
			j.spawn(func(th *thread) { took = path.Base(th.enqueue(latch, "place-latch-")) })
			for end := w.now + second/2; len(w.queue) > 0 && w.queue[0].at < end; {
				e := w.queue.pop()
				w.now = e.at
				e.do()
			}
			if made := len(w.tree.Get(latch).Children); made != test.made || took != test.takes || j.stuck != test.restarts {
				t.Errorf("%d nodes, took %q, restarts %v", made, took, j.stuck)
			}
		})
	}
}
