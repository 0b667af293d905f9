package alert

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
)

// many is a job with more items than an alert has numbers for them.
const many = 100

// batch returns the facts of a burst of runs of items that end in a state, for one instant.
func batch(at int64, s trace.State, items ...int) []*fact {
	w := New(Options{Jobs: []job.Config{{Name: "j", Shards: many, Notify: ops}}})
	w.alerting["j"] = true
	for _, i := range items {
		w.row(&trace.Row{Job: "j", Item: i, State: s, Instant: at, Start: at, End: at})
	}
	return w.take()
}

// upTo returns the items from one on, up to and without another.
func upTo(from, to int) (items []int) {
	for i := from; i < to; i++ {
		items = append(items, i)
	}
	return items
}

// Items that succeed in one burst end the alert of all of them, in whatever order they end.
func TestBurstOfSuccessesEndsAnAlert(t *testing.T) {
	t.Parallel()
	order := rand.New(rand.NewPCG(1, 2)).Perm(many)
	for name, items := range map[string][]int{"the last item first": append([]int{many - 1}, upTo(0, many-1)...), "any order": order} {
		var a clustertree.Alerts
		applyAll(&a, batch(1000, trace.Failed, upTo(0, 32)...), gather)
		applyAll(&a, batch(60_000, trace.Succeeded, items...), gather)
		if one := a.Find("j", Failed); one.Over == 0 {
			t.Errorf("%s: %+v", name, one)
		}
	}
}

// The items of facts that wait are bounded, and those that are beyond the bound are counted.
func TestItemsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	w := New(Options{})
	full := fact{job: "j", over: true, items: upTo(0, maxItems-1)}
	w.add(full)
	w.add(fact{job: "j", over: true, items: []int{0, maxItems, maxItems + 1}})
	w.add(fact{job: "k", over: true, items: []int{0}})
	if w.lost != 2 || w.items != maxItems {
		t.Errorf("%d lost, %d wait", w.lost, w.items)
	}
	all := w.take()
	w.add(fact{job: "k", over: true, items: []int{0}})
	w.putBack(slices.Clone(all))
	if len(all) != 1 || w.items != maxItems || w.lost != 1 {
		t.Errorf("%d facts, then %d items, %d lost", len(all), w.items, w.lost)
	}
}
