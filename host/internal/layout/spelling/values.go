package spelling

import (
	"errors"
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The values of our own nodes are JSON, with items as ranges: [from, to, …], both ends
// included. If a value would outgrow a node with its many ranges, it has the packed numbers
// of all items (see byItem). A record of another version is refused.

// Version is the version of the values that this release writes.
const Version = 1

type assignmentJSON struct {
	V       int              `json:"v"`
	Total   int              `json:"total"`
	Members []job.InstanceID `json:"members"`
	Owners  [][3]int64       `json:"owners"`          // from, to, index into members
	Packed  byItem           `json:"packed,omitzero"` // in place of Owners: by item, the index from 1
	Last    byItem           `json:"last"`            // instant

	Requested byItem `json:"requested,omitzero"` // revision
	Departing []int  `json:"departing,omitempty"`
	idleJSON
	pastJSON
}

// EncodeAssignment returns the value of wasm/assignment.
func EncodeAssignment(a *protocol.Assignment) []byte {
	v := assignmentJSON{V: Version, Total: a.Total, Members: a.Members, Last: a.Last, Requested: a.Requested, Departing: a.Departing, idleJSON: idleOf(&a.Idle), pastJSON: pastOf(&a.Past)}
	owners := make(byItem, len(a.Owners))
	// The index of an owner counts from 1 here: 0 is none, which ranges leaves out.
	for i, o := range a.Owners {
		owners[i] = int64(slices.Index(a.Members, o)) + 1
	}
	if v.Owners = ranges(owners); len(v.Owners) > maxRanges {
		v.Owners, v.Packed = [][3]int64{}, owners
	}
	for k := range v.Owners {
		v.Owners[k][2]-- // from 0 in the JSON
	}
	return v.written()
}

// DecodeAssignment reads what EncodeAssignment wrote. It refuses items beyond the total,
// ranges out of order, and owners that are none of the members.
func DecodeAssignment(data []byte) (protocol.Assignment, error) {
	var v assignmentJSON
	if err := decodePlain(data, &v, v.plain); err != nil {
		return protocol.Assignment{}, err
	}
	if v.V != Version {
		return protocol.Assignment{}, fmt.Errorf("version %d is not known to this release", v.V)
	}
	if v.Total < 0 || v.Total > MaxItems {
		return protocol.Assignment{}, fmt.Errorf("total %d is out of range", v.Total)
	}
	a := protocol.Assignment{Exists: true, Total: v.Total, Members: v.Members, Owners: make([]job.InstanceID, v.Total)}
	next := int64(0)
	for _, r := range v.Owners {
		if r[0] < next || r[1] < r[0] || r[1] >= int64(v.Total) || r[2] < 0 || r[2] >= int64(len(v.Members)) {
			return a, errors.New("an owner is out of range")
		}
		for i := r[0]; i <= r[1]; i++ {
			a.Owners[i] = v.Members[r[2]]
		}
		next = r[1] + 1
	}
	for i, n := range v.Packed {
		if i >= v.Total || n < 0 || n > int64(len(v.Members)) {
			return a, errors.New("an owner is out of range")
		}
		if n > 0 {
			a.Owners[i] = v.Members[n-1]
		}
	}
	last := -1
	for _, i := range v.Departing {
		if i <= last || i >= v.Total {
			return a, errors.New("a departing item is out of range")
		}
		last = i
	}
	a.Last, a.Requested, a.Departing, a.Idle, a.Past = v.Last, v.Requested, v.Departing, v.idle(), v.past()
	return a, nil
}

type memberJSON struct {
	V      int               `json:"v"`
	Labels map[string]string `json:"labels,omitempty"`
	// Address is where the member's server offers modules to others.
	Address string `json:"address,omitempty"`
	// Defines: the server's own file has the job, and creates it again when it is gone.
	Defines bool `json:"defines,omitempty"`
	// Params: the member's release passes a requested parameter to the run.
	Params bool `json:"params,omitempty"`
	// Next is how far the member is with loading the next module.
	Next *readyJSON `json:"next,omitempty"`
}

type readyJSON struct {
	Digest string `json:"digest"`
	Fault  string `json:"fault,omitempty"`
}

// EncodeMember returns the value of a member's node.
func EncodeMember(m protocol.Join, r protocol.Ready) string {
	v := memberJSON{V: Version, Labels: m.Labels, Address: m.Address, Defines: m.Defines, Params: true}
	if r.Digest != "" {
		v.Next = &readyJSON{r.Digest, r.Fault}
	}
	return string(jsonvalue.Encode(v))
}

// ready returns the member's report about the next module.
func (m *memberJSON) ready() protocol.Ready {
	if m.Next == nil {
		return protocol.Ready{}
	}
	return protocol.Ready{Digest: m.Next.Digest, Fault: m.Next.Fault}
}

// maxMember is the largest value of a member's node that is read, in bytes.
const maxMember = 64 << 10

// DecodeMember reads the value of a member's node. The node alone shows that the member
// exists, so a value that cannot be read counts as empty.
func DecodeMember(data []byte) protocol.Member {
	var v memberJSON
	if len(data) > maxMember {
		return protocol.Member{}
	}
	if err := jsonvalue.Decode(data, &v); err != nil || v.V != Version {
		return protocol.Member{}
	}
	return protocol.Member{Labels: v.Labels, Address: v.Address, Defines: v.Defines, Params: v.Params, Ready: v.ready()}
}

type runsJSON struct {
	V        int           `json:"v"`
	Seq      int64         `json:"seq"`
	Open     []entryJSON   `json:"open,omitempty"`
	Retries  []retryJSON   `json:"retries,omitempty"`
	Last     byItem        `json:"last,omitzero"`
	Triggers []triggerJSON `json:"triggers,omitempty"`
	Rows     []rowJSON     `json:"rows,omitempty"`

	Requested byItem `json:"requested,omitzero"`
	idleJSON
	pastJSON
}

type entryJSON struct {
	Items     []int          `json:"i"` // from, to, and so on
	Instant   int64          `json:"t"`
	Trigger   string         `json:"trigger,omitempty"`
	Cause     protocol.Cause `json:"cause"`
	Attempt   int            `json:"n"`
	Uncounted int            `json:"uncounted,omitempty"`
	Begun     int64          `json:"b,omitempty"`
	Param     string         `json:"param,omitempty"`
	First     int64          `json:"first,omitempty"`
}

const (
	// maxAsked bounds the items of all triggers of a record, and maxRows its rows, since a
	// few bytes can stand for many.
	maxAsked = 2 * MaxItems
	maxRows  = 2 * MaxItems
)

type retryJSON struct {
	entryJSON
	After int64 `json:"after"`
}

type triggerJSON struct {
	ID    string   `json:"id"`
	At    int64    `json:"at"`
	Items [][2]int `json:"items"`
}

type rowJSON struct {
	Seq   int64 `json:"s"` // number of the first item's row; the others follow
	count int64
	entryJSON
	Gap   *[2]int64         `json:"gap,omitempty"` // after, until
	Cron  string            `json:"cron,omitempty"`
	State protocol.RowState `json:"state"`
	Why   string            `json:"why,omitempty"`  // the words, for releases that do not know the code
	Code  string            `json:"code,omitempty"` // the code with the values of its parameters
	Ended int64             `json:"e,omitempty"`
	By    job.InstanceID    `json:"by,omitempty"`
}

func (e entryJSON) entry(i int) protocol.Entry {
	return protocol.Entry{Item: i, Instant: e.Instant, Trigger: e.Trigger, Cause: e.Cause, Attempt: e.Attempt, Uncounted: e.Uncounted, Begun: e.Begun, Param: e.Param, First: e.First}
}

func entryOf(e protocol.Entry) entryJSON {
	return entryJSON{Items: []int{e.Item, e.Item}, Instant: e.Instant, Trigger: e.Trigger, Cause: e.Cause, Attempt: e.Attempt, Uncounted: e.Uncounted, Begun: e.Begun, Param: e.Param, First: e.First}
}

// joins reports whether next differs from the entry only by a later item.
func (e *entryJSON) joins(next protocol.Entry) bool {
	return e.Items[len(e.Items)-1] < next.Item && e.entry(next.Item) == next
}

// add adds a later item, for which all other values are the same.
func (e *entryJSON) add(i int) { e.Items = addItem(e.Items, i) }

// addItem adds an item to pairs, the ends of ascending ranges. It extends the last range if
// the item follows it.
func addItem(pairs []int, i int) []int {
	if n := len(pairs); n > 0 && pairs[n-1]+1 == i {
		pairs[n-1] = i
		return pairs
	}
	return append(pairs, i, i)
}

// itemsOf lists the items of ascending ranges.
func itemsOf(pairs []int) ([]int, error) {
	if len(pairs) == 0 || len(pairs)%2 != 0 {
		return nil, errors.New("a list of items has no pairs")
	}
	var items []int
	for k := 0; k < len(pairs); k += 2 {
		from, to := pairs[k], pairs[k+1]
		if err := checkRange([2]int{from, to}); err != nil {
			return nil, err
		}
		if n := len(items); n > 0 && items[n-1] >= from {
			return nil, errors.New("a list of items is out of order")
		}
		for i := from; i <= to; i++ {
			items = append(items, i)
		}
	}
	return items, nil
}

// EncodeRuns returns the value of a member's record. Neighbours in a list that differ only
// by their items become one element with ranges of items, so that a job of many items has a
// short record.
func EncodeRuns(d *protocol.RunsData) []byte {
	v := runsJSON{V: versionOfRuns(d), Seq: d.Seq, Last: d.Last, Requested: d.Requested, idleJSON: idleOf(&d.Idle), pastJSON: pastOf(&d.Past)}
	for _, e := range d.Open {
		if n := len(v.Open); n > 0 && v.Open[n-1].joins(e) {
			v.Open[n-1].add(e.Item)
			continue
		}
		v.Open = append(v.Open, entryOf(e))
	}
	for _, r := range d.Retries {
		if n := len(v.Retries); n > 0 && v.Retries[n-1].joins(r.Entry) && v.Retries[n-1].After == r.After {
			v.Retries[n-1].add(r.Item)
			continue
		}
		v.Retries = append(v.Retries, retryJSON{entryOf(r.Entry), r.After})
	}
	for _, t := range d.Triggers {
		tj := triggerJSON{ID: t.ID, At: t.At}
		for _, i := range t.Items {
			if n := len(tj.Items); n > 0 && tj.Items[n-1][1]+1 == i {
				tj.Items[n-1][1]++
				continue
			}
			tj.Items = append(tj.Items, [2]int{i, i})
		}
		v.Triggers = append(v.Triggers, tj)
	}
	for _, r := range d.Rows {
		if n := len(v.Rows); n > 0 && v.Rows[n-1].joinsRow(r) {
			v.Rows[n-1].add(r.Item)
			v.Rows[n-1].count++
			continue
		}
		rj := rowJSON{Seq: r.Seq, count: 1, entryJSON: entryOf(r.Entry), State: r.State, Why: r.Why.String(), Code: r.Why.Key(), Cron: r.Cron, Ended: r.Ended, By: r.By}
		if r.Gap {
			rj.Gap = &[2]int64{r.After, r.Until}
		}
		v.Rows = append(v.Rows, rj)
	}
	return v.written()
}

// joinsRow reports whether next differs from the row only by a later item and the number
// that follows. Such rows become one element.
func (r *rowJSON) joinsRow(next protocol.Row) bool {
	return r.joins(next.Entry) && r.Seq+r.count == next.Seq && r.State == next.State && r.Why == next.Why.String() && r.Code == next.Why.Key() && r.Cron == next.Cron && r.Ended == next.Ended && r.By == next.By &&
		(r.Gap == nil && !next.Gap || r.Gap != nil && next.Gap && *r.Gap == [2]int64{next.After, next.Until})
}

// DecodeRuns reads what EncodeRuns wrote.
func DecodeRuns(data []byte) (protocol.RunsData, error) {
	var v runsJSON
	var d protocol.RunsData
	if err := decodePlain(data, &v, v.plain); err != nil {
		return d, err
	}
	if v.V != Version && v.V != paramVersion {
		return d, fmt.Errorf("version %d is not known to this release", v.V)
	}
	d.Seq, d.Last, d.Requested, d.Idle, d.Past = v.Seq, v.Last, v.Requested, v.idle(), v.past()
	for _, e := range v.Open {
		if err := e.spread(&d); err != nil {
			return d, err
		}
	}
	for _, r := range v.Retries {
		if err := r.spread(&d); err != nil {
			return d, err
		}
	}
	asked := 0
	for _, t := range v.Triggers {
		if err := t.spread(&d, &asked); err != nil {
			return d, err
		}
	}
	for _, r := range v.Rows {
		if err := r.spread(&d); err != nil {
			return d, err
		}
	}
	return d, nil
}

// spread adds the open runs of all items of the entry to d, in which items must be
// ascending.
func (e entryJSON) spread(d *protocol.RunsData) error {
	items, err := itemsOf(e.Items)
	if err != nil {
		return err
	}
	for _, i := range items {
		if n := len(d.Open); n > 0 && d.Open[n-1].Item >= i {
			return fmt.Errorf("item %d is open twice or out of order", i)
		}
		d.Open = append(d.Open, e.entry(i))
	}
	return nil
}

// spread adds the retries of all items to d, in which items must be ascending.
func (r retryJSON) spread(d *protocol.RunsData) error {
	items, err := itemsOf(r.Items)
	if err != nil {
		return err
	}
	for _, i := range items {
		if n := len(d.Retries); n > 0 && d.Retries[n-1].Item >= i {
			return fmt.Errorf("item %d is to be tried twice or out of order", i)
		}
		d.Retries = append(d.Retries, protocol.Retry{Entry: r.entry(i), After: r.After})
	}
	return nil
}

// spread adds the trigger with its items to d. asked counts the items of all triggers of
// the record.
func (t triggerJSON) spread(d *protocol.RunsData, asked *int) error {
	tr := protocol.Trigger{ID: t.ID, At: t.At}
	for _, r := range t.Items {
		if err := checkRange(r); err != nil {
			return err
		}
		if *asked += r[1] - r[0] + 1; *asked > maxAsked {
			return errors.New("triggers name too many items")
		}
		for i := r[0]; i <= r[1]; i++ {
			tr.Items = append(tr.Items, i)
		}
	}
	d.Triggers = append(d.Triggers, tr)
	return nil
}

// spread adds the rows of all items to d. Their numbers follow each other.
func (r rowJSON) spread(d *protocol.RunsData) error {
	items, err := itemsOf(r.Items)
	if err != nil {
		return err
	}
	if len(d.Rows)+len(items) > maxRows {
		return errors.New("too many rows")
	}
	for k, i := range items {
		row := protocol.Row{Seq: r.Seq + int64(k), Entry: r.entry(i), State: r.State, Why: reason.Read(r.Code, r.Why), Cron: r.Cron, Ended: r.Ended, By: r.By}
		if r.Gap != nil {
			row.Gap, row.After, row.Until = true, r.Gap[0], r.Gap[1]
		}
		d.Rows = append(d.Rows, row)
	}
	return nil
}

type pendingJSON struct {
	V    int            `json:"v"`
	Dead job.InstanceID `json:"dead"`
	entryJSON
	After int64 `json:"after,omitempty"` // of a retry
}

// EncodePending returns the value of a pending run's node.
func EncodePending(p *protocol.Pending) []byte {
	return jsonvalue.Encode(pendingJSON{V: versionOf(&p.Entry), Dead: p.Dead, entryJSON: entryOf(p.Entry), After: p.After})
}

// DecodePending reads the value of the pending run's node of item i. ElasticJob's own node
// is empty and has no run. A value that cannot be read counts as such a node.
func DecodePending(i int, data []byte) (protocol.Pending, error) {
	if len(data) == 0 {
		return protocol.Pending{Item: i, Foreign: true}, nil
	}
	var v pendingJSON
	if err := jsonvalue.Decode(data, &v); err != nil {
		return protocol.Pending{Item: i, Foreign: true}, err
	}
	if v.V != Version && v.V != paramVersion {
		return protocol.Pending{Item: i, Foreign: true}, fmt.Errorf("version %d is not known to this release", v.V)
	}
	return protocol.Pending{Item: i, Dead: v.Dead, Entry: v.entry(i), After: v.After}, nil
}

// PeerAddress returns the address, in the value of a member's node, at which the member's
// server offers modules to others; empty if it offers none.
func PeerAddress(member registry.Node) string {
	if !member.Exists {
		return ""
	}
	return DecodeMember(member.Data).Address
}
