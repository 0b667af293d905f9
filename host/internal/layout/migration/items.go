package migration

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// servers moves the settings of servers. Later layouts cannot pause a server. If all are
// paused, the job is paused; otherwise the paused servers are disabled.
func (m *moving) servers() error {
	was, err := servertree.Read(m.root, func(path string) (registry.Node, error) {
		return m.tree[strings.TrimPrefix(path, m.root+"/")], nil
	})
	if err == nil {
		err = was.Fault
	}
	if err != nil {
		return err
	}
	running := func(s servertree.Member) bool { return !s.Paused && !s.Disabled }
	all := slices.ContainsFunc(was.Servers, func(s servertree.Member) bool { return s.Paused }) && !slices.ContainsFunc(was.Servers, running)
	if all && !m.want[jobtree.NodePaused].Exists {
		m.want.put(jobtree.NodePaused, spelling.EncodePause(protocol.Pause{Why: "its servers were paused in layout " + m.from}))
	}
	for _, s := range was.Servers {
		m.want.put(jobtree.NodeServers+"/"+s.IP, []byte(m.job.ServerValue(s.Disabled || s.Paused && !all)))
		if s.Paused && !all {
			m.note("servers/%s/paused: later layouts pause the whole job; the server is disabled", s.IP)
		}
		for _, name := range []string{servertree.Trigger, servertree.Successes, servertree.Failures} {
			if path := strings.Replace(name, "{ip}", s.IP, 1); m.tree[path].Exists {
				m.note("%s: no later layout has it", path)
			}
		}
	}
	return nil
}

// items moves what layouts 1 and 2.0 keep in nodes of items: when they last began and
// ended, marks, and offsets. The moments go into an assignment, so that members of ours
// know which instants have begun.
func (m *moving) items() error {
	var begun, ended []int64
	var failed error
	// A begin in the future would keep the item from beginning until then.
	moment := func(path string, n registry.Node) int64 {
		ms, err := servertree.ParseMillis(string(n.Data))
		if latest := n.Stat.ModifiedAt.Add(maxAhead); err == nil && time.UnixMilli(ms).After(latest) {
			err = fmt.Errorf("%d is more than %v after it was written; mend it, or nothing would begin until then", ms, maxAhead)
		}
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", path, err)
		}
		return ms
	}
	for _, path := range m.tree.paths() {
		n := m.tree[path]
		row, arg, ok := servertree.NodeOf(path)
		i, isItem := spelling.ItemNumber(arg)
		if !ok || !isItem {
			continue
		}
		switch row.Name {
		case servertree.LastBegin:
			begun = set(begun, i, moment(path, n))
		case servertree.LastEnd:
			ended = set(ended, i, moment(path, n))
		case servertree.Misfire:
			m.below(jobtree.NodeSharding, strconv.Itoa(i), jobtree.MarkMisfire, []byte{})
		case servertree.ItemDisabled:
			m.below(jobtree.NodeSharding, strconv.Itoa(i), jobtree.MarkDisabled, []byte{})
		case servertree.Offset:
			if err := m.offset(i, n); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if failed != nil {
		return failed
	}
	// Servers of ours have left an assignment and records, which are newer than the nodes
	// of items unless members of ElasticJob came later.
	if m.tree.ours() {
		return m.foreignBegins()
	}
	if len(begun) > 0 {
		m.want.put(jobtree.NodeAssignment, spelling.EncodeAssignment(&protocol.Assignment{Last: begun, Past: protocol.Past{Begun: begun, Ended: ended}}))
	} else {
		m.note("execution: it has no last instants, so what came until a server joins has no row")
	}
	return nil
}

// offset moves the offset of a dataflow into the state of its item.
func (m *moving) offset(item int, n registry.Node) error {
	dir := strconv.Itoa(item)
	was := m.want[jobtree.NodeItems+"/"+dir+"/"+jobtree.MarkState]
	values, err := spelling.DecodeState(was)
	if err != nil {
		return err
	}
	before := values[spelling.KeyOffset]
	if spelling.PutOffset(values, was, n); bytes.Equal(before, values[spelling.KeyOffset]) {
		return nil
	}
	state, err := spelling.EncodeState(values)
	if err != nil {
		return err
	}
	m.below(jobtree.NodeItems, dir, jobtree.MarkState, state)
	return nil
}

// foreignBegins accounts for runs that members of ElasticJob began after servers of ours
// had run the job.
func (m *moving) foreignBegins() error {
	v := m.seen()
	if v.RecordFault != "" {
		return fmt.Errorf("what servers of ours have left cannot be read: %s", v.RecordFault)
	}
	a, later := v.Assignment, 0
	for i, it := range v.Items {
		if it.ForeignBegan == 0 || i < len(a.Last) && it.ForeignBegan <= a.Last[i] {
			continue
		}
		later++
		a.Last = set(a.Last, i, it.ForeignBegan)
		a.Begun = set(a.Begun, i, it.ForeignBegan)
	}
	if later > 0 {
		m.want.put(jobtree.NodeAssignment, spelling.EncodeAssignment(&a))
		m.note("execution: members of ElasticJob began items after servers of ours had; what they ran has no row")
	}
	return nil
}

// seen returns the view that servers of ours would have in the job's present layout. It
// applies all nodes that a mirror would follow.
func (m *moving) seen() *protocol.View {
	l := layout.New(m.from, "", m.name)
	d := l.NewDecoder(nil)
	for names := l.Watched(); len(names) > 0; {
		var below []string
		for _, name := range names {
			d.Apply(l.At(name), m.tree[name])
			below = append(below, l.Below(name, m.tree[name])...)
		}
		names = below
	}
	return d.View()
}

// maxAhead is how far a member's clock may be ahead of the registry's.
const maxAhead = time.Hour

// set sets the value of item i in a list, which grows as needed.
func set(all []int64, i int, ms int64) []int64 {
	all = append(all, make([]int64, max(0, i+1-len(all)))...)
	all[i] = ms
	return all
}

// below puts a node of an item into the intended tree, with the two above it.
func (m *moving) below(dir, item, name string, data []byte) {
	m.want.put(dir, []byte{})
	m.want.put(dir+"/"+item, []byte{})
	m.want.put(dir+"/"+item+"/"+name, data)
}
