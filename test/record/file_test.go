package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// file has the form of the recordings of later releases, without counts of requests.
type file struct {
	Namespace string            `json:"namespace"`
	Release   string            `json:"release"`
	Epoch     int64             `json:"start_epoch_ms"`
	Notes     []string          `json:"notes"`
	Moments   []moment          `json:"moments"`
	Flows     []flow            `json:"flows"`
	Outputs   map[string]output `json:"outputs"`
}

type moment struct {
	Name     string `json:"name"`
	T        int64  `json:"t"`
	Zxid     int64  `json:"zxid"`
	Replayed bool   `json:"replayed"`
	Tree     []leaf `json:"tree"`
}

type leaf struct {
	Path      string `json:"path"`
	Data      string `json:"data"`
	Ephemeral bool   `json:"ephemeral"`
	Version   int32  `json:"version"`
}

type flow struct {
	Name   string  `json:"name"`
	Writes []write `json:"writes"`
}

type write struct {
	T         int64    `json:"t"`
	Z         int64    `json:"z"`
	By        string   `json:"by"`
	Op        string   `json:"op"`
	Path      string   `json:"path,omitempty"`
	Data      *string  `json:"data,omitempty"`
	Ephemeral bool     `json:"ephemeral,omitempty"`
	Err       int32    `json:"err,omitempty"`
	Removes   []string `json:"removes,omitempty"`
	Ops       []part   `json:"ops,omitempty"`
}

type part struct {
	Op        string  `json:"op"`
	Path      string  `json:"path"`
	Data      *string `json:"data,omitempty"`
	Ephemeral bool    `json:"ephemeral,omitempty"`
}

type output struct {
	Argv   []string         `json:"argv"`
	Events []map[string]any `json:"events"`
	Other  []string         `json:"other"`
}

// tree returns the tree after a log entry.
func (s *stage) tree(upTo int64) map[string]leaf {
	all := map[string]leaf{}
	for _, x := range s.log() {
		if x.Zxid > upTo || slices.ContainsFunc(x.Changes, func(c zktest.Change) bool { return c.Kind == zktest.Refused }) {
			continue
		}
		for _, c := range x.Changes {
			switch n := all[c.Path]; c.Kind {
			case zktest.Created:
				all[c.Path] = leaf{Path: c.Path, Data: value(c), Ephemeral: c.Ephemeral}
			case zktest.Set:
				n.Data, n.Version = value(c), n.Version+1
				all[c.Path] = n
			case zktest.Deleted:
				delete(all, c.Path)
			}
		}
	}
	maps.DeleteFunc(all, func(p string, _ leaf) bool { return p != "/"+s.namespace && !strings.HasPrefix(p, "/"+s.namespace+"/") })
	return all
}

func paths(tree map[string]leaf) []string { return slices.Sorted(maps.Keys(tree)) }

// value returns the data of a change, without the machine's name.
func value(c zktest.Change) string {
	if strings.HasSuffix(c.Path, "/hostName") {
		return "host"
	}
	return string(c.Data)
}

// file returns the whole recording as text.
func (s *stage) file() []byte {
	s.t.Helper()
	f := file{Namespace: s.namespace, Release: s.release, Epoch: s.began.UnixMilli(), Notes: s.notes, Outputs: map[string]output{}}
	if f.Notes == nil {
		f.Notes = []string{}
	}
	s.moment("at the end")
	for _, g := range s.moments {
		m := moment{Name: g.name, T: g.at.Sub(s.began).Milliseconds(), Zxid: g.zxid, Replayed: true, Tree: []leaf{}}
		tree := s.tree(g.zxid)
		for _, p := range paths(tree) {
			m.Tree = append(m.Tree, tree[p])
		}
		f.Moments = append(f.Moments, m)
	}
	log := s.log()
	for _, c := range s.flows {
		part := flow{Name: c.name, Writes: []write{}}
		for _, x := range log {
			if x.Zxid >= c.from && x.Zxid <= c.to {
				part.Writes = append(part.Writes, s.write(x))
			}
		}
		f.Flows = append(f.Flows, part)
	}
	for _, p := range s.processes {
		f.Outputs[p.name] = s.output(p, f.Outputs[p.name])
	}
	name, err := os.Hostname()
	if err != nil {
		s.t.Fatal(err)
	}
	return bytes.ReplaceAll(lines(s.t, f), []byte(`"hostName":"`+name+`"`), []byte(`"hostName":"host"`))
}

// output returns the output of all processes of a member.
func (s *stage) output(p *process, before output) output {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := output{Argv: []string{}, Events: before.Events, Other: append([]string{}, append(before.Other, p.other...)...)}
	for _, a := range p.argv {
		if !strings.HasPrefix(a, "zk=") {
			o.Argv = append(o.Argv, a)
		}
	}
	for _, l := range p.lines {
		if l["ev"] == "ready" {
			continue
		}
		l["t"] = int64(l["t"].(float64)) - s.began.UnixMilli()
		o.Events = append(o.Events, l)
	}
	return o
}

var words = map[zktest.ChangeKind]string{
	zktest.Created: "create", zktest.Set: "setData", zktest.Deleted: "delete", zktest.Checked: "check", zktest.SessionBegun: "createSession",
	zktest.SessionEnded: "closeSession", zktest.Refused: "error", zktest.Protected: "setACL", zktest.Other: "other",
}

func (s *stage) write(x zktest.Transaction) write {
	w := write{T: x.Time.Sub(s.began).Milliseconds(), Z: x.Zxid, By: s.sessions[x.Session]}
	if w.By == "" {
		w.By = s.byAddress(s.log(), x.Session)
	}
	first := x.Changes[0]
	w.Op = words[first.Kind]
	switch {
	case first.Kind == zktest.SessionEnded:
		for _, c := range x.Changes[1:] {
			w.Removes = append(w.Removes, c.Path)
		}
	case first.Kind == zktest.Refused:
		for _, c := range x.Changes {
			w.Err = min(w.Err, c.Code)
		}
	case len(x.Changes) > 1:
		w.Op = "multi"
		for _, c := range x.Changes {
			p := part{Op: words[c.Kind], Path: c.Path, Ephemeral: c.Ephemeral}
			p.Data = data(c)
			w.Ops = append(w.Ops, p)
		}
	default:
		w.Path, w.Data, w.Ephemeral = first.Path, data(first), first.Ephemeral
	}
	return w
}

func data(c zktest.Change) *string {
	if c.Kind != zktest.Created && c.Kind != zktest.Set {
		return nil
	}
	text := value(c)
	return &text
}

// byAddress attributes a session that began later to the member whose status it has
// written.
func (s *stage) byAddress(log []zktest.Transaction, session int64) string {
	for _, x := range log {
		for _, c := range x.Changes {
			if x.Session != session || !c.Ephemeral || !strings.HasSuffix(c.Path, "/status") {
				continue
			}
			for _, p := range s.processes[1:] {
				if slices.Contains(p.argv, "ip="+strings.Split(c.Path, "/")[4]) {
					return p.name
				}
			}
		}
	}
	return "tool"
}

// lines encodes a recording as JSON with one line for each write, node and event.
func lines(t *testing.T, f file) []byte {
	t.Helper()
	var b bytes.Buffer
	text := func(v any) string {
		var line bytes.Buffer
		e := json.NewEncoder(&line)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line.String())
	}
	list := func(key string, n int, line func(k int) string, end string) {
		fmt.Fprintf(&b, "%q: [", key)
		for k := range n {
			fmt.Fprintf(&b, "%s\n    %s", map[bool]string{true: ",", false: ""}[k > 0], line(k))
		}
		fmt.Fprintf(&b, "]%s", end)
	}
	fmt.Fprintf(&b, "{\n \"namespace\": %s,\n \"release\": %s,\n \"start_epoch_ms\": %d,\n \"notes\": %s,\n \"moments\": [", text(f.Namespace), text(f.Release), f.Epoch, text(f.Notes))
	for k, m := range f.Moments {
		fmt.Fprintf(&b, "%s\n  {\"name\": %s, \"t\": %d, \"zxid\": %d, \"replayed\": true, ", map[bool]string{true: ",", false: ""}[k > 0], text(m.Name), m.T, m.Zxid)
		list("tree", len(m.Tree), func(k int) string { return text(m.Tree[k]) }, "}")
	}
	fmt.Fprintf(&b, "],\n \"flows\": [")
	for k, w := range f.Flows {
		fmt.Fprintf(&b, "%s\n  {\"name\": %s, ", map[bool]string{true: ",", false: ""}[k > 0], text(w.Name))
		list("writes", len(w.Writes), func(k int) string { return text(w.Writes[k]) }, "}")
	}
	fmt.Fprintf(&b, "],\n \"outputs\": {")
	for k, name := range slices.Sorted(maps.Keys(f.Outputs)) {
		o := f.Outputs[name]
		fmt.Fprintf(&b, "%s\n  %q: {\"argv\": %s, \"other\": %s, ", map[bool]string{true: ",", false: ""}[k > 0], name, text(o.Argv), text(o.Other))
		list("events", len(o.Events), func(k int) string { return text(o.Events[k]) }, "}")
	}
	fmt.Fprintf(&b, "}\n}\n")
	return b.Bytes()
}
