package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// The values of our own nodes are JSON with items as ranges: [from, to, …],
// both ends included. A record of another version is refused, not guessed at.

const valueVersion = 1

type assignmentJSON struct {
	V       int              `json:"v"`
	Total   int              `json:"total"`
	Members []job.InstanceID `json:"members"`
	Owners  [][3]int64       `json:"owners"` // from, to, index into members
	Last    [][3]int64       `json:"last"`   // from, to, instant

	Requested [][3]int64 `json:"requested,omitempty"` // from, to, revision
}

func encodeAssignment(a *protocol.Assignment) []byte {
	v := assignmentJSON{V: valueVersion, Total: a.Total, Members: a.Members, Last: ranges(a.Last), Requested: ranges(a.Requested)}
	owners := make([]int64, len(a.Owners))
	for i, o := range a.Owners {
		owners[i] = int64(slices.Index(a.Members, o)) + 1
	}
	v.Owners = ranges(owners)
	for k := range v.Owners {
		v.Owners[k][2]--
	}
	return mustJSON(v)
}

func decodeAssignment(data []byte) (protocol.Assignment, error) {
	var v assignmentJSON
	if err := decodeJSON(data, &v); err != nil {
		return protocol.Assignment{}, err
	}
	if v.V != valueVersion {
		return protocol.Assignment{}, fmt.Errorf("version %d is not known to this release", v.V)
	}
	if v.Total < 0 || v.Total > maxItems {
		return protocol.Assignment{}, fmt.Errorf("total %d is out of range", v.Total)
	}
	a := protocol.Assignment{Exists: true, Total: v.Total, Members: v.Members, Owners: make([]job.InstanceID, v.Total)}
	for _, r := range v.Owners {
		if r[0] < 0 || r[1] >= int64(v.Total) || r[2] < 0 || r[2] >= int64(len(v.Members)) {
			return a, errors.New("an owner is out of range")
		}
		for i := r[0]; i <= r[1]; i++ {
			a.Owners[i] = v.Members[r[2]]
		}
	}
	var err error
	if a.Last, err = spread(v.Last); err != nil {
		return a, err
	}
	a.Requested, err = spread(v.Requested)
	return a, err
}

type memberJSON struct {
	V      int               `json:"v"`
	Labels map[string]string `json:"labels,omitempty"`
}

func encodeMember(labels map[string]string) string {
	return string(mustJSON(memberJSON{V: valueVersion, Labels: labels}))
}

// decodeMember gives a member's labels. Whether it is there does not depend on
// what it says, so what cannot be read has none.
func decodeMember(data []byte) map[string]string {
	var v memberJSON
	if err := decodeJSON(data, &v); err != nil || v.V != valueVersion {
		return nil
	}
	return v.Labels
}

type runsJSON struct {
	V        int           `json:"v"`
	Seq      int64         `json:"seq"`
	Open     []entryJSON   `json:"open,omitempty"`
	Last     [][3]int64    `json:"last,omitempty"`
	Triggers []triggerJSON `json:"triggers,omitempty"`
	Rows     []rowJSON     `json:"rows,omitempty"`

	Requested [][3]int64 `json:"requested,omitempty"`
}

type entryJSON struct {
	Items   [2]int         `json:"i"`
	Instant int64          `json:"t"`
	Trigger string         `json:"trigger,omitempty"`
	Cause   protocol.Cause `json:"cause"`
	Attempt int            `json:"n"`
	Begun   int64          `json:"b,omitempty"`
}

type triggerJSON struct {
	ID    string   `json:"id"`
	At    int64    `json:"at"`
	Items [][2]int `json:"items"`
}

type rowJSON struct {
	Seq int64 `json:"s"` // of the first item; the others follow
	entryJSON
	Gap   *[2]int64         `json:"gap,omitempty"` // after, until
	Cron  string            `json:"cron,omitempty"`
	State protocol.RowState `json:"state"`
	Why   string            `json:"why,omitempty"`
	Ended int64             `json:"e,omitempty"`
	By    job.InstanceID    `json:"by,omitempty"`
}

func (e entryJSON) entry(i int) protocol.Entry {
	return protocol.Entry{Item: i, Instant: e.Instant, Trigger: e.Trigger, Cause: e.Cause, Attempt: e.Attempt, Begun: e.Begun}
}

func entryOf(e protocol.Entry) entryJSON {
	return entryJSON{Items: [2]int{e.Item, e.Item}, Instant: e.Instant, Trigger: e.Trigger, Cause: e.Cause, Attempt: e.Attempt, Begun: e.Begun}
}

// joins tells whether next continues the range with the next item.
func (e entryJSON) joins(next protocol.Entry) bool {
	return e.Items[1]+1 == next.Item && e.entry(next.Item) == next
}

func encodeRuns(d *protocol.RunsData) []byte {
	v := runsJSON{V: valueVersion, Seq: d.Seq, Last: ranges(d.Last), Requested: ranges(d.Requested)}
	for _, e := range d.Open {
		if n := len(v.Open); n > 0 && v.Open[n-1].joins(e) {
			v.Open[n-1].Items[1]++
			continue
		}
		v.Open = append(v.Open, entryOf(e))
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
			v.Rows[n-1].Items[1]++
			continue
		}
		rj := rowJSON{Seq: r.Seq, entryJSON: entryOf(r.Entry), State: r.State, Why: r.Why, Cron: r.Cron, Ended: r.Ended, By: r.By}
		if r.Gap {
			rj.Gap = &[2]int64{r.After, r.Until}
		}
		v.Rows = append(v.Rows, rj)
	}
	return mustJSON(v)
}

func (r rowJSON) joinsRow(next protocol.Row) bool {
	n := int64(r.Items[1] - r.Items[0] + 1)
	return r.joins(next.Entry) && r.Seq+n == next.Seq && r.State == next.State && r.Why == next.Why && r.Cron == next.Cron && r.Ended == next.Ended && r.By == next.By &&
		(r.Gap == nil && !next.Gap || r.Gap != nil && next.Gap && *r.Gap == [2]int64{next.After, next.Until})
}

func decodeRuns(data []byte) (protocol.RunsData, error) {
	var v runsJSON
	var d protocol.RunsData
	if err := decodeJSON(data, &v); err != nil {
		return d, err
	}
	if v.V != valueVersion {
		return d, fmt.Errorf("version %d is not known to this release", v.V)
	}
	d.Seq = v.Seq
	var err error
	if d.Last, err = spread(v.Last); err != nil {
		return d, err
	}
	if d.Requested, err = spread(v.Requested); err != nil {
		return d, err
	}
	for _, e := range v.Open {
		if err := e.spread(&d); err != nil {
			return d, err
		}
	}
	for _, t := range v.Triggers {
		if err := t.spread(&d); err != nil {
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

func (e entryJSON) spread(d *protocol.RunsData) error {
	if err := checkRange(e.Items); err != nil {
		return err
	}
	for i := e.Items[0]; i <= e.Items[1]; i++ {
		if n := len(d.Open); n > 0 && d.Open[n-1].Item >= i {
			return fmt.Errorf("item %d is open twice or out of order", i)
		}
		d.Open = append(d.Open, e.entry(i))
	}
	return nil
}

func (t triggerJSON) spread(d *protocol.RunsData) error {
	tr := protocol.Trigger{ID: t.ID, At: t.At}
	for _, r := range t.Items {
		if err := checkRange(r); err != nil {
			return err
		}
		if len(tr.Items)+r[1]-r[0] > maxItems {
			return errors.New("a trigger names too many items")
		}
		for i := r[0]; i <= r[1]; i++ {
			tr.Items = append(tr.Items, i)
		}
	}
	d.Triggers = append(d.Triggers, tr)
	return nil
}

func (r rowJSON) spread(d *protocol.RunsData) error {
	if err := checkRange(r.Items); err != nil {
		return err
	}
	if len(d.Rows)+r.Items[1]-r.Items[0] > 10*maxItems {
		return errors.New("too many rows")
	}
	for i := r.Items[0]; i <= r.Items[1]; i++ {
		row := protocol.Row{Seq: r.Seq + int64(i-r.Items[0]), Entry: r.entry(i), State: r.State, Why: r.Why, Cron: r.Cron, Ended: r.Ended, By: r.By}
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
}

func encodePending(p *protocol.Pending) []byte {
	return mustJSON(pendingJSON{V: valueVersion, Dead: p.Dead, entryJSON: entryOf(p.Entry)})
}

// decodePending reads a pending mark; ElasticJob's own is empty and says
// nothing of the run.
func decodePending(i int, data []byte) (protocol.Pending, error) {
	if len(data) == 0 {
		return protocol.Pending{Item: i, Foreign: true}, nil
	}
	var v pendingJSON
	if err := decodeJSON(data, &v); err != nil {
		return protocol.Pending{Item: i, Foreign: true}, err
	}
	if v.V != valueVersion {
		return protocol.Pending{Item: i, Foreign: true}, fmt.Errorf("version %d is not known to this release", v.V)
	}
	return protocol.Pending{Item: i, Dead: v.Dead, Entry: v.entry(i)}, nil
}

// ranges folds equal neighbours; zeros are left out.
func ranges(s []int64) [][3]int64 {
	var r [][3]int64
	for i, x := range s {
		if x == 0 {
			continue
		}
		if n := len(r); n > 0 && r[n-1][1]+1 == int64(i) && r[n-1][2] == x {
			r[n-1][1]++
			continue
		}
		r = append(r, [3]int64{int64(i), int64(i), x})
	}
	return r
}

func spread(r [][3]int64) ([]int64, error) {
	var s []int64
	for _, x := range r {
		if x[0] < int64(len(s)) || x[1] < x[0] || x[1] >= maxItems {
			return nil, errors.New("a range of items is out of order or out of range")
		}
		for int64(len(s)) < x[0] {
			s = append(s, 0)
		}
		for int64(len(s)) <= x[1] {
			s = append(s, x[2])
		}
	}
	return s, nil
}

func checkRange(r [2]int) error {
	if r[0] < 0 || r[1] < r[0] || r[1] >= maxItems {
		return fmt.Errorf("the range of items %d-%d is out of range", r[0], r[1])
	}
	return nil
}

func decodeJSON(data []byte, v any) error {
	if len(data) == 0 {
		return errors.New("it is empty")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("it is not what this release writes: %w", err)
	}
	return nil
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // only numbers, texts and slices of them
		panic(err)
	}
	return b
}
