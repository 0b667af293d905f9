package sim

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// restWorld is a world that begins with the rest of a removed job. Members that define the
// job delete the rest first, and nothing of it becomes part of their job.
func restWorld(seed uint64, layout string, p profile, trace io.Writer) *World {
	if layout != job.Layout21 {
		p.layout = layout
	}
	w := newWorld(seed, drawn(seed), p, trace)
	w.setup()
	w.ledger.unknown = w.ledger.unknown[2:] // the others go with the rest
	above, mark := w.job.Removal()
	items, servers := w.job.At(w.job.ItemNode(0)), w.job.At("servers")
	record := spelling.EncodeRuns(&protocol.RunsData{})
	leaves := []string{above + "/paused", above + "/items/0/state", above + "/runs/10.0.0.9@-@9", items + "/disabled", servers + "/10.0.0.1", mark}
	var ops []registry.Op
	create := func(path string, data []byte) {
		if !slices.ContainsFunc(ops, func(op registry.Op) bool { return op.Path == path }) {
			ops = append(ops, registry.Op{Kind: registry.Create, Path: path, Data: data})
		}
	}
	for _, leaf := range leaves {
		for k := len(w.job.Root()) + 1; k < len(leaf); k++ {
			if leaf[k] == '/' {
				create(leaf[:k], nil)
			}
		}
		var data []byte
		switch leaf {
		case servers + "/10.0.0.1":
			data = []byte("DISABLED")
		case leaves[2]:
			data = record
		}
		create(leaf, data)
	}
	w.apply(nil, ops, origin{what: "a removal that is cut off"})
	reached := false
	w.driver = driver{reached: &reached, change: func(_, now *protocol.View) {
		if reached || now.Config == nil {
			return
		}
		reached = true
		for _, leaf := range leaves {
			if w.tree.Get(leaf).Exists {
				w.breach("nothing of the removed job", "%s is part of the new one", leaf)
			}
		}
	}}
	return w
}

// The job is created anew without anything of the rest, even if a member dies after any
// part, or two delete the rest at once.
func TestRestOfARemoval(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{job.Layout1, job.Layout20, job.Layout21, job.Layout3} {
		for parts := range 9 {
			for _, second := range []int64{0, 9} {
				play := func(trace io.Writer) (Result, bool) {
					w := restWorld(1, layout, fair(), trace)
					w.plain(2, 3)
					a := w.ours(1, 0)
					w.ours(2, second)
					w.define()
					seen, change := 0, w.driver.change
					w.driver.change = func(old, now *protocol.View) {
						if change(old, now); old.Rest {
							if seen++; seen == parts {
								a.dies()
							}
						}
					}
					return w.play(), *w.driver.reached
				}
				r, reached := play(nil)
				if reached && r.Breach == nil && r.Guests > 0 {
					continue
				}
				var trace bytes.Buffer
				play(&trace)
				t.Fatalf("layout %s, %d parts, second at %d: made anew: %v, broke: %v:\n%s", layout, parts, second, reached, r.Breach, lastLines(trace.String()))
			}
		}
	}
}

// The same with random faults.
func TestRestOfARemovalAtRandom(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(profiles(), func(p profile) bool { return p.java[1] > 0 })
	for _, layout := range []string{job.Layout1, job.Layout20, job.Layout21, job.Layout3} {
		for seed := range uint64(15) {
			play := func(trace io.Writer) (Result, bool) {
				w := restWorld(seed, layout, all[seed%uint64(len(all))], trace)
				w.populate()
				w.disturb()
				w.disturbMore()
				return w.play(), *w.driver.reached
			}
			if r, reached := play(nil); !reached || r.Breach != nil {
				var trace bytes.Buffer
				play(&trace)
				t.Fatal(fmt.Sprintf("layout %s, seed %d: made anew: %v, broke: %v:\n", layout, seed, reached, r.Breach), lastLines(trace.String()))
			}
		}
	}
}
