package clustertree

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
)

// The node has spans of items: a number, or a pair. A message names the first ones.
func TestSpansOfItems(t *testing.T) {
	t.Parallel()
	upTo := func(n, step int) (all []int) {
		for i := 0; i < n; i += step {
			all = append(all, i)
		}
		return all
	}
	for want, items := range map[string][]int{
		"null":           nil,
		"[7]":            {7},
		"[[0,39],50,52]": append(upTo(40, 1), 50, 52),
		"[[0,99999]]":    upTo(100_000, 1),
		"[0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,[62,78]]": upTo(80, 2), // the last span has gaps
	} {
		a := Alert{Job: "j", Kind: "failed", First: 1, Last: 1, Notify: []string{"ops"}}
		a.AddItems(items)
		if named := a.Named(); !slices.Equal(named, items[:min(len(items), MaxNamedItems)]) {
			t.Errorf("%s: named are %v", want, named)
		}
		var all Alerts
		all.Add(a)
		got, err := DecodeAlerts(all.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(got.All[0].Items); err != nil || string(text) != want {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
	for _, wrong := range []string{"null", `"1"`, "[1]", "[1,2,3]", "{}", "1.5", "[1,null]x"} {
		if err := new(Span).UnmarshalJSON([]byte(wrong)); err == nil {
			t.Errorf("%s is taken for items", wrong)
		}
	}
}

// Whatever fails and succeeds, an alert has each item that has not succeeded since it failed. It
// has no other one, unless there are too many spans, and none when all have succeeded.
func TestItemsOfAnAlertAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		total := 1 + rng.IntN(200)
		var a Alert
		want := map[int]bool{}
		for range 30 {
			some := rng.Perm(total)[:rng.IntN(total+1)]
			if rng.IntN(2) == 0 { // neighbours
				from := rng.IntN(total)
				some = slices.DeleteFunc(some, func(i int) bool { return i < from || i > from+total/4 })
			}
			failed := rng.IntN(2) == 0
			if failed {
				a.AddItems(some)
			} else {
				a.Items = a.ItemsWithout(some)
			}
			a.tidy()
			for _, i := range some {
				want[i] = failed
			}
			full := len(a.Items) == maxAlertSpans
			has := map[int]bool{}
			for _, s := range a.Items {
				for i := s.First; i <= s.Last; i++ {
					has[i] = true
				}
			}
			for i := range total {
				if has[i] != want[i] && !(has[i] && full) {
					t.Fatalf("seed %d: item %d of %v: %v", seed, i, a.Items, has[i])
				}
				want[i] = has[i]
			}
		}
		if left := a.ItemsWithout(rng.Perm(total)); len(left) > 0 {
			t.Errorf("seed %d: %v are left of %d", seed, left, total)
		}
	}
}
