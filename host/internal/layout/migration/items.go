package migration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// keyOffset is the key of an item's state that has what a dataflow of layout 1 has kept.
const keyOffset = "offset"

// servers moves what is said of servers. Later layouts know no paused one: if all are, the job
// is, else those that are become disabled.
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
	if all {
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

// items moves what is known of items.
func (m *moving) items() error {
	var a protocol.Assignment
	var failed error
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
			a.Last = set(a.Last, i, moment(path, n))
		case servertree.LastEnd:
			a.Ended = set(a.Ended, i, moment(path, n))
		case servertree.Misfire:
			m.below(jobtree.NodeSharding, strconv.Itoa(i), jobtree.MarkMisfire, []byte{})
		case servertree.Offset:
			if len(n.Data) == 0 { // members make it so, and then set it
				continue
			}
			state, err := spelling.EncodeState(map[string][]byte{keyOffset: n.Data})
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			m.below(jobtree.NodeItems, strconv.Itoa(i), jobtree.MarkState, state)
		}
	}
	if a.Begun = a.Last; len(a.Last) > 0 {
		m.want.put(jobtree.NodeAssignment, spelling.EncodeAssignment(&a))
	} else {
		m.note("execution: it has no last instants, so what came until a server joins has no row")
	}
	return failed
}

// maxAhead is how far the clock of a member may be ahead of the registry's.
const maxAhead = time.Hour

func set(all []int64, i int, ms int64) []int64 {
	all = append(all, make([]int64, max(0, i+1-len(all)))...)
	all[i] = ms
	return all
}

// below puts a node of an item, with those above it.
func (m *moving) below(dir, item, name string, data []byte) {
	m.want.put(dir, []byte{})
	m.want.put(dir+"/"+item, []byte{})
	m.want.put(dir+"/"+item+"/"+name, data)
}
