package sim

import (
	"bytes"
	"slices"
	"testing"
)

// TestJavaAlone runs jobs that have only foreign members. In an undisturbed world each
// item runs once per instant, and everything comes to rest. So whatever breaks with
// members of ours was broken by them.
func TestJavaAlone(t *testing.T) {
	t.Parallel()
	var exact int64
	for seed := range uint64(100) {
		p := sharedJob()
		p.members, p.java = [2]int64{0, 1}, [2]int64{1, 5}
		r := run(seed, p, nil)
		exact += r.Exact
		if r.Breach != nil {
			var story bytes.Buffer
			run(seed, p, &story)
			t.Fatalf("seed %d broke %q:\n%s", seed, r.Breach.Invariant, lastLines(story.String()))
		}
	}
	if exact < 60 {
		t.Errorf("%d instants were judged", exact)
	}
	t.Logf("%d instants were judged", exact)
}

// TestWakesInOrder checks that the order of a map does not change the story of a seed.
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
