package sim

import (
	"bytes"
	"testing"
)

// TestJavaAlone runs jobs that only members of ElasticJob have: where nothing
// else happens each item runs once an instant, and everything comes to rest. So
// what breaks when ours are there, ours have broken.
func TestJavaAlone(t *testing.T) {
	t.Parallel()
	var exact int64
	for seed := range uint64(100) {
		p := besideJava()
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
