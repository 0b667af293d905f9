package migration

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/registry"
)

// FuzzMoves: with any value in a node, a job's migration is refused, or it is done and can
// be taken back.
func FuzzMoves(f *testing.F) {
	names := slices.SortedFunc(func(yield func(recording) bool) {
		for r := range recordings {
			if !yield(r) {
				return
			}
		}
	}, func(a, b recording) int { return strings.Compare(a.name, b.name) })
	for i := range names {
		f.Add(uint8(i), "execution/0/lastBeginTime", "1", true)
		f.Add(uint8(i), "servers/10.0.0.9/paused", "", false)
		f.Add(uint8(i), "offset/7", "x", true)
		f.Add(uint8(i), "wasm/migration", `{"v":1,"from":"1","to":"3","nodes":{"":"a"}}`, true)
		f.Add(uint8(i), "config", "jobName: job", false)
	}
	f.Fuzz(func(t *testing.T, of uint8, path, data string, last bool) {
		r := names[int(of)%len(names)]
		nodes := recordings[r](t)
		_, ours := nodes["wasm/members"]
		if !registry.ValidPath("/"+path) || byServer(r.from) && path != "wasm/migration" && within(path, copies(ours)...) { // such nodes count as left by an interruption
			return
		}
		for k := range path { // and the nodes above it
			if _, there := nodes[path[:k]]; path[k] == '/' && !there {
				nodes[path[:k]] = ""
			}
		}
		nodes[path] = data
		to := "2.1"
		if last {
			to = "3"
		}
		s := newStage(t, nodes)
		p, err := Forward("ns", "job", to, s.nodes())
		if err != nil || p.Done != "" {
			return
		}
		before := s.data()
		s.must(p.Ops()...)
		if s.of() != to {
			t.Fatalf("it is of layout %q", s.of())
		}
		s.must(s.back().Ops()...)
		if d := cmp.Diff(before, s.data()); d != "" {
			t.Error(d)
		}
	})
}
