package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

const (
	// followPause is the time between two looks at a job.
	followPause = 200 * time.Millisecond
	// looksForRun is the number of looks until a requested run must have appeared.
	looksForRun = 50
)

// followedRun is the JSON of job run --follow. Scripts read it: add fields, but do not change
// any.
type followedRun struct {
	Version int         `json:"version"`
	Job     string      `json:"job"`
	Run     string      `json:"run"`
	Items   []endedItem `json:"items"` // in the order in which they ended
}

type endedItem struct {
	Item     int       `json:"item"`
	Failed   bool      `json:"failed"`
	NotBegun bool      `json:"not_begun,omitempty"` // it was given up before it began
	Ended    time.Time `json:"ended"`               // for an item that was given up: when that was noticed
}

// follow waits until the items of the requested run have ended, and reports how. before is the report on
// the job from before the request.
func (o *operatorVerb) follow(ctx context.Context, op cluster, before *operator.JobReport, asked operator.Asked) error {
	if !o.term.json() {
		o.term.printf("%s: run %s\n", plain(before.Name), plain(asked.Run))
	}
	open := map[int]*followedItem{}
	for _, i := range before.Items {
		if slices.Contains(asked.Items, i.Item) {
			open[i.Item] = &followedItem{run: asked.Run, before: i}
		}
	}
	seen := followedRun{Version: 1, Job: before.Name, Run: asked.Run}
	failed, notBegun := 0, 0
	again := time.NewTicker(followPause)
	defer again.Stop()
	for len(open) > 0 {
		r, err := op.Job(ctx, before.Name)
		switch {
		case err == nil:
			for _, one := range endedOf(r, open) {
				seen.Items = append(seen.Items, one)
				switch {
				case one.NotBegun:
					notBegun++
				case one.Failed:
					failed++
				}
				o.printEnded(one)
			}
		case ctx.Err() == nil: // otherwise the wait is over, see below
			return err
		}
		if len(open) == 0 {
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return &host.Error{Code: host.Unavailable, Msg: fmt.Sprintf("follow run %s of job %s: %d of %s did not end in time; it goes on", asked.Run, before.Name, len(open), count(len(asked.Items), "item")), Err: context.Cause(ctx)}
		}
	}
	if o.term.json() {
		if err := o.term.printJSON(seen); err != nil {
			return err
		}
	}
	of, history := count(len(asked.Items), "item"), "see history list --job "+plain(before.Name)
	switch {
	case notBegun > 0:
		return exitf(exitRunFailed, "%d of %s did not begin, %d failed; %s", notBegun, of, failed, history)
	case failed > 0:
		return exitf(exitRunFailed, "%d of %s failed; %s", failed, of, history)
	}
	return nil
}

// endedOf removes from open the items whose run is over, and returns how it ended.
func endedOf(r *operator.JobReport, open map[int]*followedItem) []endedItem {
	var all []endedItem
	for k := range r.Items {
		i := &r.Items[k]
		f := open[i.Item]
		if f == nil || !f.over(i) {
			continue
		}
		delete(open, i.Item)
		one := endedItem{Item: i.Item, Failed: f.began && i.Failures > 0, NotBegun: !f.began, Ended: i.LastEnd.UTC()}
		if one.NotBegun {
			one.Ended = time.Now().UTC()
		}
		all = append(all, one)
	}
	return all
}

func (o *operatorVerb) printEnded(one endedItem) {
	if o.term.json() {
		return
	}
	how := "ended well"
	switch {
	case one.NotBegun:
		how = "did not begin: it was given up"
	case one.Failed:
		how = "failed"
	}
	o.term.printf("item %d %s\n", one.Item, how)
}

// followedItem is what is known of an item whose run is followed.
type followedItem struct {
	run    string
	before operator.ItemReport // before the run began
	waited bool                // the registry showed the run, or has had the time to show it
	looks  int
	began  bool
}

// over reports whether the run of the item is over: it has ended, or was given up before it began. began
// says which. i is the newest report on the item. The registry names the run only while it waits or is
// open. If it began and ended between two looks, only the item's times show that. Other runs of the item,
// such as those of its schedule, change these times, too.
func (f *followedItem) over(i *operator.ItemReport) bool {
	if f.looks++; f.looks > looksForRun {
		f.waited = true
	}
	switch {
	case i.Run.Request == f.run: // it is open, or pending: it has begun
		f.waited, f.began = true, true
		return false
	case slices.Contains(i.Waits, f.run):
		if f.waited = true; !f.began {
			f.before = *i // what happened up to now was another run
		}
		return false
	case f.began:
		return true
	}
	another := !i.Run.Begun.IsZero() && i.Run.Begun.Equal(i.LastBegin) // another run began last
	switch {
	// Nothing has begun since. An end that is new belongs to the run that was open before.
	case f.before.LastBegin.Equal(i.LastBegin) && (f.before.Runner != "" || f.before.LastEnd.Equal(i.LastEnd)):
		return f.waited
	// What has begun since a run was open before is the run that is open now.
	case f.before.Runner != "" && another:
		return f.waited
	case i.Runner != "" || i.Pending:
		return false // decide when the item is idle again
	}
	f.began = true // it began and ended between two looks
	return true
}
