package status

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// Item is one item at the moment of a view. Times are Unix milliseconds; 0 is unknown.
type Item struct {
	Item     int
	State    string
	Owner    protocol.ID // "" while no member owns it
	Disabled bool
	Misfired bool           // an instant came while it ran; the item runs once more for it
	Pending  bool           // a pending run waits for a member
	Running  bool           // a run is open, or marked
	TakenBy  protocol.ID    // the member that took it over after a failure; "": none
	Runner   protocol.ID    // the member that runs it; "": none is known
	Run      protocol.Entry // the open or pending run
	Retry    int64          // earliest time of the next attempt of a failed run; 0: no retry
	Waits    []string       // requests for which a run waits before it begins or is retried
	Last     int64          // the newest instant that began or has a row; 0 in a manual job
	// LastBegin is when the newest run began, LastEnd when one ended last.
	LastBegin, LastEnd int64
}

// Items returns the items of a view, by number. An item beyond the total without an owner
// is left out: a foreign node below keeps its node in the registry.
func Items(v *protocol.View) []Item {
	past := v.Past()
	var items []Item
	for i, it := range v.Items {
		if surplus := v.Config != nil && i >= v.Config.Total && it.Owner == ""; !it.Exists || surplus {
			continue
		}
		x := Item{
			Item: i, Owner: it.Owner, Disabled: it.Disabled, Misfired: it.Misfire, TakenBy: it.Failover, Runner: it.Failover,
			Running: it.Marked(), Last: nth(v.Assignment.Last, i), LastBegin: nth(past.Begun, i), LastEnd: nth(past.Ended, i),
		}
		if x.Runner == "" && x.Running {
			x.Runner = it.Owner
		}
		for k := range v.Runs {
			x.Last = max(x.Last, nth(v.Runs[k].Last, i))
		}
		if v.Config != nil && v.Config.Cron == "" {
			x.Last = 0 // no instants; here Last would be the time of the first assignment
		}
		items = append(items, x)
	}
	runs(v, items)
	for k := range items {
		items[k].State = items[k].state()
	}
	return items
}

// runs fills in runs that are open, pending, or wait for their next attempt.
func runs(v *protocol.View, items []Item) {
	at := make(map[int]*Item, len(items))
	for k := range items {
		at[items[k].Item] = &items[k]
	}
	for k := range v.Runs {
		for _, e := range v.Runs[k].Open {
			if x := at[e.Item]; x != nil {
				x.Running, x.Runner, x.Run = true, v.Runs[k].ID, e
			}
		}
		for _, e := range v.Runs[k].Retries {
			if x := at[e.Item]; x != nil {
				x.Retry = e.After
				x.waits(e.Entry)
			}
		}
	}
	for k := range v.Pending {
		x := at[v.Pending[k].Item]
		if x == nil {
			continue
		}
		x.waits(v.Pending[k].Entry)
		if v.Pending[k].After != 0 {
			x.Retry = v.Pending[k].After
		} else {
			x.Pending, x.Run = true, v.Pending[k].Entry
		}
	}
}

// waits adds the request for which the run waits; a run of the schedule has none.
func (x *Item) waits(e protocol.Entry) {
	if e.Trigger != "" {
		x.Waits = append(x.Waits, e.Trigger)
	}
}

// state is the item's state, of which the first that applies counts.
func (x *Item) state() string {
	switch {
	case x.Runner != "":
		return Running
	case x.Pending:
		return Pending
	case x.Disabled:
		return Disabled
	case x.Owner == "":
		return Unassigned
	}
	return Idle
}

// nth is the value of item i in a list by item; 0 if the list is shorter.
func nth(s []int64, i int) int64 {
	if i < len(s) {
		return s[i]
	}
	return 0
}
