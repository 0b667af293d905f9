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

// An alert of more items than it names goes on until all of them have succeeded, in whatever
// parts they do. One that has not failed does not count, not even if it never runs again.
func TestAlertOfManyItems(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		failed, again []int
		parts         [][]int
	}{
		"the named ones succeed first": {upTo(0, many), upTo(32, many), [][]int{upTo(0, 32), upTo(32, many)}},
		"the last ones succeed first":  {upTo(0, many), nil, [][]int{upTo(60, many), upTo(30, 60), upTo(0, 30)}},
		"a disabled item":              {append(upTo(0, 50), upTo(51, many)...), nil, [][]int{upTo(51, many), upTo(0, 50)}},
	} {
		var a clustertree.Alerts
		turn := func(facts []*fact) {
			applyAll(&a, facts, gather)
			if _, err := clustertree.DecodeAlerts(a.Encode()); err != nil {
				t.Error(err)
			}
		}
		turn(batch(1000, trace.Failed, tt.failed...))
		turn(batch(60_000, trace.Failed, tt.again...))
		for i, part := range tt.parts {
			turn(batch(120_000, trace.Succeeded, part...))
			if one := a.Find("j", Failed); (one.Over != 0) != (i == len(tt.parts)-1) {
				t.Errorf("%s: after part %d: %+v", name, i, one)
			}
		}
	}
}

// The items that a message names are items, however the registry has them.
func TestNamedItemsOfManyItems(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	applyAll(&a, batch(1000, trace.Failed, upTo(0, many)...), gather)
	if n := noticeOf("jobs", a.Find("j", Failed)); !slices.Equal(n.Items, upTo(0, 32)) {
		t.Errorf("%+v", n)
	}
	var one clustertree.Alert
	last := []int{job.MaxShards - 1}
	if one.AddItems(last); !slices.Equal(one.Named(), last) {
		t.Errorf("%+v", one)
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
