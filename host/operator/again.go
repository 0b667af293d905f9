package operator

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A run that an operator requests for single items is a pending run in the registry, like the
// retry of an item that has moved. The owner begins it as soon as the item is idle. If the item's
// next instant comes first, the run does not begin, and a row says so.

// maxAsked is the limit of items in one request, so that it fits into a transaction.
const maxAsked = 500

// MaxParam is the limit of bytes in the parameter of a run.
const MaxParam = 1024

// Asked is the result of an operator's request for runs of single items.
type Asked struct {
	Run   string `json:"run"`
	Items []int  `json:"items"` // ascending
	// Unread names servers that did not answer and may have later attempts.
	Unread []string `json:"unread,omitempty"`
	// Again: the same request was made before with this idempotency key, and Run is the run of then.
	Again bool `json:"again,omitempty"`
}

// ItemsWanted is the request of TriggerItems.
type ItemsWanted struct {
	Items []int
	// Param replaces the job's parameter for these runs; nil: it does not. All who may see the job
	// see it, in the history and the audit, too, so it must not have secrets.
	Param *string
	// Key is an idempotency key; empty: none. It counts only together with Items and Param: another
	// request with the same key is carried out.
	Key string
}

var (
	verbTriggerItems = verb{"trigger items of", "job trigger"}
	verbRetry        = verb{"retry a run of", "job retry"}
)

// TriggerItems requests that some items of a job run now, each once, on the servers that own
// them.
func (o *Operator) TriggerItems(ctx context.Context, name string, want ItemsWanted) (Asked, error) {
	items, err := askedItems(verbTriggerItems, name, want.Items)
	if err == nil {
		err = checkParam(name, want.Param)
	}
	if err != nil {
		return Asked{}, err
	}
	var param string
	if want.Param != nil {
		param = *want.Param
	}
	use, err := newOnce(verbTriggerItems, want.Key)
	if err != nil {
		return Asked{}, err
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never fails
	if use != nil {
		// The same key with other items or another parameter is another request.
		use.key = keyOf(verbTriggerItems, want.Key+"\x00"+itemsText(items)+"\x00"+param)
	}
	runs := make([]protocol.Entry, len(items))
	for k, i := range items {
		runs[k] = protocol.Entry{Item: i, Trigger: runText(id[:]), Cause: protocol.Triggered, Attempt: 1, Param: param}
	}
	err = o.enqueue(ctx, verbTriggerItems, name, runs, use)
	if use != nil { // the first request with the key has named the run
		return Asked{Run: use.run(), Items: items, Again: use.repeated()}, err
	}
	return Asked{Run: runs[0].Trigger, Items: items}, err
}

// runText is the id of a run that an operator requests.
func runText(id []byte) string { return "t-" + hex.EncodeToString(id) }

// run is the id of the run that the first request with the key has requested. It is made from that
// request, so each repeated one gets the same. It depends on the time of the first request, since the key
// expires after a day and then stands for another run.
func (u *once) run() string {
	id := sha256.Sum256(fmt.Appendf(nil, "%v %q %d %v", u.first.Key, u.first.Job, u.first.At, u.first.By))
	return runText(id[:8])
}

// Retry requests another attempt of a run, for each item whose last attempt did not end
// well; if items are given, only for these. It reads the history that Recall has set and the
// rows in the registry. run is the run's id or the time of its instant; if it is empty, Retry
// takes the newest run with such an item. The run keeps its id, its instant and its parameter.
func (o *Operator) Retry(ctx context.Context, name, run string, items []int) (Asked, error) {
	if len(items) > 0 {
		var err error
		if items, err = askedItems(verbRetry, name, items); err != nil {
			return Asked{}, err
		}
	}
	last, run, unread, err := o.lastAttempts(ctx, name, run)
	if err != nil {
		return Asked{}, err
	}
	a := Asked{Run: run, Unread: unread}
	var runs []protocol.Entry
	for _, row := range last {
		switch chosen := slices.Contains(items, row.Item); {
		case len(items) > 0 && !chosen:
		case len(items) == 0 && !endedBadly(row.State):
		case !endedBadly(row.State):
			return Asked{}, failf(host.Refused, nil, "%s job %s: item %d of run %s is %s; only an item that did not end well can be retried", verbRetry.words, name, row.Item, run, row.State)
		default:
			a.Items = append(a.Items, row.Item)
			e := protocol.Entry{Item: row.Item, Trigger: run, Cause: protocol.Cause(trace.Retry), Attempt: row.Attempt + 1, Param: row.Param}
			if _, scheduled := e.RunsFor(); !scheduled { // its id does not say which instant its guest has seen
				e.First = row.Instant
			}
			runs = append(runs, e)
		}
	}
	switch {
	case len(runs) == 0 && len(items) == 0:
		return Asked{}, failf(host.Refused, nil, "%s job %s: every item of run %s has ended well", verbRetry.words, name, run)
	case len(runs) < len(items):
		return Asked{}, failf(host.NotFound, nil, "%s job %s: of these items the history has only %s in run %s%s", verbRetry.words, name, itemsText(a.Items), run, unanswered(unread))
	}
	return a, o.enqueue(ctx, verbRetry, name, runs, nil)
}

// endedBadly reports whether an attempt has ended so that no retry follows by itself, but a
// requested one may help.
func endedBadly(s trace.State) bool {
	switch s {
	case trace.Failed, trace.TimedOut, trace.Cancelled, trace.Interrupted, trace.Lost:
		return true
	default:
		return false
	}
}

// unanswered says which servers did not answer, for the end of an error.
func unanswered(unread []string) string {
	if len(unread) == 0 {
		return ""
	}
	return "; without an answer: " + strings.Join(unread, ", ")
}

// newestBad returns the row that ended last, of the last attempts of items that did not end well; the zero value: none.
func newestBad(rows []trace.Row) (newest trace.Row) {
	type item struct {
		run  string
		item int
	}
	last := map[item]int{} // attempts
	for _, r := range rows {
		last[item{r.Run, r.Item}] = max(last[item{r.Run, r.Item}], r.Attempt)
	}
	for _, r := range rows {
		if endedBadly(r.State) && r.Attempt == last[item{r.Run, r.Item}] && r.End > newest.End {
			newest = r
		}
	}
	return newest
}

// lastAttempts returns the newest row of each item of a run, sorted by item, and the id of the run. run is its
// id, the time of its instant, or empty for the newest run with an item whose last attempt did not end well.
func (o *Operator) lastAttempts(ctx context.Context, name, run string) (last []trace.Row, id string, unread []string, err error) {
	rows, unread, err := o.attempts(ctx, name, runID(run))
	if err != nil {
		return nil, "", nil, err
	}
	for _, r := range rows {
		if at := strconv.FormatInt(r.Instant, 10); run != r.Run && runID(run) == at { // run is the time of r's instant
			if r.Run == at { // a scheduled run, whose id is its instant
				run = at
				break
			}
			// An operator requested the run. Other rows of it may have later instants, which were not read: read again by its id.
			return o.lastAttempts(ctx, name, r.Run)
		}
	}
	if run == "" {
		newest := newestBad(rows)
		if newest.Run == "" {
			return nil, "", nil, failf(host.Refused, nil, "%s job %s: no run in the history has ended badly%s", verbRetry.words, name, unanswered(unread))
		}
		run = newest.Run
	}
	of := map[int]trace.Row{}
	for _, r := range rows {
		if r.Run == run && r.Attempt > of[r.Item].Attempt {
			of[r.Item] = r
		}
	}
	if len(of) == 0 {
		return nil, "", nil, failf(host.NotFound, nil, "%s job %s: the history has no run %.64q%s", verbRetry.words, name, run, unanswered(unread))
	}
	for _, r := range of {
		last = append(last, r)
	}
	slices.SortFunc(last, func(a, b trace.Row) int { return a.Item - b.Item })
	return last, run, unread, nil
}

// attempts returns the rows of a job's runs from the registry and the history. If run is an instant, the
// history is read up to it, since all attempts of a scheduled run have that instant.
func (o *Operator) attempts(ctx context.Context, name, run string) (rows []trace.Row, unread []string, err error) {
	v, l, _, err := o.presentView(ctx, verbRetry.words, name, o.wholly)
	if err != nil {
		return nil, nil, err
	}
	for _, kept := range keptRows(l, name, v) {
		rows = append(rows, kept.Row)
	}
	if o.history != nil {
		upTo := time.Now()
		if at, err := strconv.ParseInt(run, 10, 64); err == nil {
			upTo = time.UnixMilli(at)
		}
		stored, missing, err := o.history(ctx, name, nil, upTo)
		if err != nil {
			return nil, nil, failf(host.CodeOf(err), err, "%s job %s: read the history", verbRetry.words, name)
		}
		rows, unread = append(rows, stored...), missing
	}
	return slices.DeleteFunc(rows, func(r trace.Row) bool { return r.Attempt == 0 }), unread, nil // gaps are no runs
}

// enqueue makes runs pending for the owners of their items. If use is not nil, it does so only if the key
// is new, and the runs get the id that belongs to the key.
func (o *Operator) enqueue(ctx context.Context, what verb, name string, runs []protocol.Entry, use *once) error {
	if len(runs) > maxAsked {
		return failf(host.Invalid, nil, "%s job %s: %d items are more than the %d of one request", what.words, name, len(runs), maxAsked)
	}
	return o.askBy(ctx, request{verb: what, job: name, single: true, once: use, direct: func(v *protocol.View, l layout.Layout) ([]registry.Op, deed, error) {
		if why := whyNotEnqueued(v, runs, time.Now().UnixMilli()); why != "" {
			return nil, deed{}, failf(host.Refused, nil, "%s job %s: %s", what.words, name, why)
		}
		if err := o.makeTree(ctx); err != nil {
			return nil, deed{}, err
		}
		now, err := o.now(ctx)
		if err != nil {
			return nil, deed{}, readError(err, "%s job %s: ask the registry for its time", what.words, name)
		}
		pending := make([]protocol.Pending, len(runs))
		for k, e := range runs {
			if use != nil {
				e.Trigger = use.run()
			}
			runs[k].Trigger = e.Trigger // for the audit
			e.Instant = now.UnixMilli() // later instants overtake the run
			pending[k] = protocol.Pending{Item: e.Item, Entry: e, After: e.Instant}
		}
		ops := layout.Enqueue(l, v, pending)
		if bytes := sizeOf(ops); bytes > spelling.MaxBytes {
			return nil, deed{}, failf(host.Refused, nil, "%s job %s: the request has %d bytes, of at most %d; ask for fewer items at once, or give them a shorter parameter", what.words, name, bytes, spelling.MaxBytes)
		}
		return ops, deed{detail: enqueued(runs)}, nil
	}})
}

// enqueued describes requested runs in the audit.
func enqueued(runs []protocol.Entry) string {
	text := "run=" + runs[0].Trigger + " items=" + itemsText(itemsIn(runs))
	if runs[0].Param != "" {
		text += " param=" + strconv.Quote(runs[0].Param) // last, because it may be cut off
	}
	return text
}

// itemsIn returns the items of runs, in their order.
func itemsIn(runs []protocol.Entry) []int {
	items := make([]int, len(runs))
	for k := range runs {
		items[k] = runs[k].Item
	}
	return items
}

// sizeOf is about the size of a transaction in bytes.
func sizeOf(ops []registry.Op) (n int) {
	for k := range ops {
		n += len(ops[k].Path) + len(ops[k].Data)
	}
	return n
}

// whyNotEnqueued is why these runs cannot become pending; empty: they can.
func whyNotEnqueued(v *protocol.View, runs []protocol.Entry, now int64) string {
	items := itemsIn(runs)
	if why := whyNotByItem(v, items); why != "" {
		return why
	}
	if slices.ContainsFunc(runs, func(e protocol.Entry) bool { return e.Param != "" }) {
		for k := range v.Members {
			if m := &v.Members[k]; !m.Params {
				return "the server of " + string(m.ID) + " has a release without parameters of runs, and would ignore this one; upgrade it first"
			}
		}
	}
	if v.PausedAt(now) {
		return "it is paused; resume it first"
	}
	for _, i := range items {
		if slices.ContainsFunc(v.Pending, func(p protocol.Pending) bool { return p.Item == i }) {
			return "another run of item " + strconv.Itoa(i) + " waits already"
		}
	}
	return ""
}

// whyNothingByItem is why an operator cannot request runs of any single items of a job; empty: one
// can.
func whyNothingByItem(v *protocol.View) string {
	switch {
	case !v.Assignment.Exists:
		return "no server of ours has ever run it"
	case len(v.Instances) == 0:
		return "no server is registered that could run it"
	case v.Shared():
		return "members of ElasticJob run it, too, and would take such runs at once; wait until they have left"
	}
	return ""
}

// whyNotByItem is why an operator cannot request runs of these items; empty: one can.
func whyNotByItem(v *protocol.View, items []int) string {
	if why := whyNothingByItem(v); why != "" {
		return why
	}
	for _, i := range items {
		switch {
		case i >= v.Config.Total || i >= len(v.Items):
			return fmt.Sprintf("there is no item %d; the items are 0 to %d", i, min(v.Config.Total, len(v.Items))-1)
		case v.Items[i].Disabled:
			return "item " + strconv.Itoa(i) + " is disabled"
		}
	}
	return ""
}

// askedItems sorts the items of a request. It refuses an empty list, negative numbers and
// duplicates.
func askedItems(what verb, name string, items []int) ([]int, error) {
	items = slices.Sorted(slices.Values(items))
	switch {
	case len(items) == 0:
		return nil, failf(host.Invalid, nil, "%s job %s: say which items", what.words, name)
	case items[0] < 0:
		return nil, failf(host.Invalid, nil, "%s job %s: %d is not an item; items begin at 0", what.words, name, items[0])
	case len(slices.Compact(slices.Clone(items))) < len(items):
		return nil, failf(host.Invalid, nil, "%s job %s: an item comes twice", what.words, name)
	}
	return items, nil
}

// checkParam refuses what cannot be the parameter of a run. An empty one is probably a mistake,
// such as an unset variable in a script: the run would get the job's own parameter.
func checkParam(name string, param *string) error {
	switch {
	case param == nil:
		return nil
	case *param == "":
		return failf(host.Invalid, nil, "%s job %s: the parameter is empty; leave it out to use the job's parameter", verbTriggerItems.words, name)
	case len(*param) > MaxParam:
		return failf(host.Invalid, nil, "%s job %s: the parameter has %d bytes, of at most %d; let it name where the guest finds the rest", verbTriggerItems.words, name, len(*param), MaxParam)
	case !utf8.ValidString(*param) || strings.ContainsRune(*param, 0):
		return failf(host.Invalid, nil, "%s job %s: the parameter is not text; write UTF-8 without NUL", verbTriggerItems.words, name)
	}
	return nil
}

// itemsText lists items, as in 0,3,4.
func itemsText(items []int) string {
	all := make([]string, len(items))
	for k, i := range items {
		all[k] = strconv.Itoa(i)
	}
	return strings.Join(all, ",")
}
