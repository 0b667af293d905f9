package golden

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// recording is one file with the writes of real members.
type recording struct {
	Namespace string `json:"namespace"`
	Epoch     int64  `json:"start_epoch_ms"`
	Moments   []moment
	Flows     []flow
	Outputs   map[string]struct {
		Instance string
		Events   []printed
	}

	file string
	top  string // path of the job
}

// printed is a line that a member printed: what the job's code received in a run.
type printed struct {
	Ev, Task, Instance string
	Item, Total        int
	Param              *string // nil: the item has none
	JobParam           string
}

// moment is the whole tree at one time.
type moment struct {
	Name     string
	T        int64
	Zxid     int64
	Replayed bool // rebuilt from the server's log right after one write
	Tree     []struct {
		Path, Data string
		Ephemeral  bool
		Version    int32
	}
}

// flow has every write from one point to another.
type flow struct {
	Name   string
	Writes []write
}

type write struct {
	T, Z      int64
	By        string
	Op        string // create, setData, delete, check, multi, createSession, closeSession, error
	Path      string
	Data      string
	Ephemeral bool
	Ops       []write
	Removes   []string
}

func record(t testing.TB, file string) *recording {
	t.Helper()
	r := &recording{file: file}
	if err := json.Unmarshal(recorded.Golden(t, "ej2/"+file+".json"), r); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	r.top = "/" + r.Namespace + "/job"
	if len(r.Flows) == 0 || len(r.Moments) == 0 {
		t.Fatalf("%s has no flows or no moments", file)
	}
	return r
}

// config returns the text of the first config node.
func (r *recording) config(t testing.TB, m moment) string {
	t.Helper()
	for _, n := range m.Tree {
		if k, ok := nodeOf(r.top, n.Path); ok && k.kind == "config" {
			return n.Data
		}
	}
	t.Fatalf("%s: %q has no config", r.file, m.Name)
	return ""
}

func (r *recording) flow(t testing.TB, name string) *flow {
	t.Helper()
	for k := range r.Flows {
		if r.Flows[k].Name == name {
			return &r.Flows[k]
		}
	}
	t.Fatalf("%s has no flow %q", r.file, name)
	return nil
}

func (r *recording) moment(t testing.TB, name string) moment {
	t.Helper()
	for _, m := range r.Moments {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("%s has no moment %q", r.file, name)
	return moment{}
}

// entries returns the writes of a flow that the server accepted.
func (r *recording) entries(f *flow) []entry {
	var all []entry
	for _, w := range f.Writes {
		e := entry{at: w.T, z: w.Z, by: r.Outputs[w.By].Instance}
		switch w.Op {
		case "error", "createSession":
			continue
		case "closeSession":
			e.end = true
			for _, p := range w.Removes {
				e.add(r.top, write{Op: "delete", Path: p})
			}
		case "multi":
			for _, op := range w.Ops {
				e.add(r.top, op)
			}
		default:
			e.add(r.top, w)
		}
		if len(e.touched) > 0 {
			all = append(all, e)
		}
	}
	return all
}

// add adds one write. A node that one transaction writes twice has its last state.
func (e *entry) add(top string, w write) {
	if strings.Contains(w.Path, "/"+contender) {
		return
	}
	n, ok := nodeOf(top, w.Path)
	if !ok || w.Op == "check" {
		return
	}
	t := touch{node: n, state: state{exists: w.Op != "delete", ephemeral: w.Ephemeral, data: w.Data}, set: w.Op == "setData"}
	for k := range e.touched {
		if e.touched[k].node == n {
			e.touched[k] = t
			return
		}
	}
	e.touched = append(e.touched, t)
}

func (r *recording) world(m moment) world {
	w := world{}
	for _, n := range m.Tree {
		if k, ok := nodeOf(r.top, n.Path); ok && !strings.Contains(n.Path, "/"+contender) {
			w[k] = state{exists: true, ephemeral: n.Ephemeral, data: n.Data}
		}
	}
	return w
}

// span returns the part of the log that a flow covers: from its first write up to the
// first one of the next flow.
func (r *recording) span(f *flow) (from, to, next int64) {
	k := 0
	for k < len(r.Flows) && &r.Flows[k] != f {
		k++
	}
	edge := func(k int) int64 {
		for ; k < len(r.Flows); k++ {
			if w := r.Flows[k].Writes; len(w) > 0 {
				return w[0].Z
			}
		}
		return 1 << 60
	}
	from, next = edge(k), edge(k+1)
	to = from
	if w := f.Writes; len(w) > 0 {
		to = w[len(w)-1].Z
	}
	return from, to, next
}

// before returns the state of each node when a flow began.
func (r *recording) before(f *flow) world {
	w, _ := r.around(f)
	return w
}

// around returns the state of each node when a flow began and when it ended. A recording
// covers parts of a scenario, so the state comes from the nearest of these: an earlier
// moment and the writes since; the flow's own first write of the node; a moment within
// the flow. A node that none of them shows is left out; ours is used then.
func (r *recording) around(f *flow) (before, after world) {
	from, to, next := r.span(f)
	before = r.known(from)
	first := map[node]touch{}
	z := map[node]int64{}
	for _, e := range r.entries(f) {
		for _, t := range e.touched {
			if _, ok := first[t.node]; !ok {
				first[t.node], z[t.node] = t, e.z
			}
		}
	}
	later := r.latest(to, next) // after the flow, before the next one begins
	// A node that the flow did not touch did not change in it. So its state afterwards was
	// also its state before, whatever happened unseen since the last moment.
	for n := range r.nodes() {
		if _, touched := first[n]; !touched && later != nil {
			before[n] = later[n]
		}
	}
	for n, t := range first {
		s, ok := before[n]
		switch {
		case t.exists && !t.set:
			before[n] = state{} // the write created it
		case !ok || !s.exists:
			delete(before, n)
			for _, m := range r.Moments {
				if m.Zxid >= from && m.Zxid < z[n] {
					before[n] = r.world(m)[n]
				}
			}
		}
	}
	after = before
	for _, e := range r.entries(f) {
		after = after.apply(e)
	}
	return before, after
}

// nodes returns every node that the recording names.
func (r *recording) nodes() map[node]bool {
	all := map[node]bool{}
	for _, m := range r.Moments {
		for n := range r.world(m) {
			all[n] = true
		}
	}
	for k := range r.Flows {
		for _, e := range r.entries(&r.Flows[k]) {
			for _, t := range e.touched {
				all[t.node] = true
			}
		}
	}
	return all
}

// known returns the states that moments and writes before z show.
func (r *recording) known(z int64) world {
	w := world{}
	at := int64(-1)
	for _, m := range r.Moments {
		if m.Zxid < z && m.Zxid > at {
			at, w = m.Zxid, r.world(m)
			for n := range r.nodes() {
				if _, ok := w[n]; !ok {
					w[n] = state{}
				}
			}
		}
	}
	for k := range r.Flows {
		for _, e := range r.entries(&r.Flows[k]) {
			if e.z > at && e.z < z {
				w = w.apply(e)
			}
		}
	}
	return w
}

// latest returns the first moment from z on and below next.
func (r *recording) latest(z, next int64) world {
	var best *moment
	for k := range r.Moments {
		m := &r.Moments[k]
		if m.Zxid >= z && m.Zxid < next && (best == nil || m.Zxid < best.Zxid) {
			best = m
		}
	}
	if best == nil {
		return nil
	}
	return r.world(*best)
}
