package definition

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Any history of files and operators keeps the promises of Merge, key by key.
func TestMergeProperties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		random := func() branch {
			b := branch{}
			for _, k := range []string{"a", "b", "c", "d"} {
				if n := r.IntN(4); n > 0 {
					b[k] = fmt.Sprint(n)
				}
			}
			return branch{"x": b["a"], "in": b}
		}
		flat := func(b branch) map[string]any {
			in, _ := b["in"].(branch)
			m := maps.Clone(in)
			if m == nil {
				m = branch{}
			}
			m["x"] = b["x"]
			return m
		}
		var base branch
		registry := random()
		for range 6 {
			if r.IntN(2) == 0 {
				registry = random() // an operator
			}
			file := random()
			m := merger{overwrite: r.IntN(8) == 0, says: map[string]string{}}
			merged, next := m.merge("", base, file, registry)
			b, f, g, got, kept := flat(base), flat(file), flat(registry), flat(merged), flat(next)
			for _, k := range []string{"a", "b", "c", "d", "x"} {
				path := "in." + k
				if k == "x" {
					path = k
				}
				disputed := slices.ContainsFunc(m.disputed, func(d Dispute) bool { return d.Key == path })
				want, applied := g[k], b[k]
				switch {
				case m.overwrite, f[k] == g[k]:
					want, applied = f[k], digestOf(f[k])
				case b[k] == digestOf(f[k]):
				case b[k] == digestOf(g[k]):
					want, applied = f[k], digestOf(f[k])
				default:
					if !disputed {
						t.Fatalf("seed %d: %s is in dispute and nobody says so", seed, path)
					}
				}
				if disputed && (m.overwrite || got[k] == f[k]) {
					t.Fatalf("seed %d: %s is said to be in dispute", seed, path)
				}
				if got[k] != want || kept[k] != applied {
					t.Fatalf("seed %d: %s: base %v, file %v, registry %v: got %v and base %v", seed, path, b[k], f[k], g[k], got[k], kept[k])
				}
			}
			again := merger{overwrite: m.overwrite, says: map[string]string{}}
			merged2, next2 := again.merge("", next, file, merged)
			if !cmp.Equal(merged, merged2) || !cmp.Equal(next, next2) {
				t.Fatalf("seed %d: a second time gives something else", seed)
			}
			base, registry = next, merged
		}
	}
}
