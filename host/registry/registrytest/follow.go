package registrytest

import (
	"cmp"
	"slices"

	"github.com/wasmjob/wasmjob/host/registry"
)

var followTests = []subtest{
	{"a follower receives every change below", testFollow},
	{"every following session receives each kind of change", testFollowKinds},
	{"events come in the order of the transactions", testFollowOrder},
	{"a followed node is counted, its list of children is not", testFollowCounts},
	{"an event comes before the reply of the session's own commit", testFollowOwn},
	{"two roots are followed side by side", testFollowTwo},
	{"a read after the last event sees the last change", testFollowLast},
	{"an ended session follows nothing", testFollowEnded},
}

// sums adds up the events of each path: the number of its changes, and whether there was an
// event for its list of children.
func sums(events []registry.Event) map[string][2]int {
	all := map[string][2]int{}
	add(all, events)
	return all
}

// add adds events to sums.
func add(all map[string][2]int, events []registry.Event) {
	for _, e := range events {
		sum := all[e.Path]
		sum[0] += e.Changes
		if e.Changes == 0 {
			sum[1] = 1
		}
		all[e.Path] = sum
	}
}

// follow makes a session follow root, or fails the test.
func (f *fixture) follow(m *member, root string) {
	f.Helper()
	if err := m.Follow(f.ctx, root); err != nil {
		f.Fatalf("follow: %v", err)
	}
}

// testFollow changes nodes below and beside a followed root. The root itself does not exist at
// first.
func testFollow(f *fixture) {
	other := f.join()
	p, sibling := f.path("p"), f.path("p2")
	f.follow(f.main, p)
	f.follow(f.main, p) // a second time
	last := p + "/deep/e"
	other.commit(created(sibling), created(p), created(p+"/deep"), ephemeral(last))
	other.commit(set(p+"/deep", "x", 0), set(sibling, "x", 0))
	other.commit(remove(last))
	f.main.await(func(events []registry.Event) bool { return sums(events)[last][0] == 2 })
	f.main.sync()
	want := map[string][2]int{p: {1, 1}, p + "/deep": {2, 1}, last: {2, 0}}
	got := sums(f.main.received())
	for path, sum := range want {
		if got[path] != sum {
			f.Errorf("%s: %v, want %v", path, got[path], sum)
		}
	}
	if len(got) != len(want) {
		f.Errorf("events %v", f.main.received())
	}
	gone := map[string]bool{}
	for _, e := range f.main.received() {
		if e.Changes > 0 {
			gone[e.Path] = e.Gone
		}
	}
	if !gone[last] || gone[p] || gone[p+"/deep"] {
		f.Errorf("gone: %v", gone)
	}
}

// testFollowKinds makes each kind of change below a root that two sessions follow, and a third
// does not.
func testFollowKinds(f *fixture) {
	tests := []struct {
		name           string
		before, change []registry.Op
		want           map[string][2]int
		gone           string
	}{
		{"set", []registry.Op{created("/a")}, []registry.Op{set("/a", "x", 0)}, map[string][2]int{"/a": {1, 0}}, ""},
		{"set to the same", []registry.Op{created("/a")}, []registry.Op{set("/a", "", 0)}, map[string][2]int{"/a": {1, 0}}, ""},
		{
			"child made", []registry.Op{created("/a")}, []registry.Op{created("/a/k")},
			map[string][2]int{"/a": {0, 1}, "/a/k": {1, 0}}, "",
		},
		{
			"child deleted", []registry.Op{created("/a"), created("/a/k")}, []registry.Op{remove("/a/k")},
			map[string][2]int{"/a": {0, 1}, "/a/k": {1, 0}}, "/a/k",
		},
		{"made", nil, []registry.Op{created("/a")}, map[string][2]int{"": {0, 1}, "/a": {1, 0}}, ""},
		{"deleted", []registry.Op{created("/a")}, []registry.Op{remove("/a")}, map[string][2]int{"": {0, 1}, "/a": {1, 0}}, "/a"},
		{
			"data and children at once", []registry.Op{created("/a")}, []registry.Op{created("/a/k"), set("/a", "x", 0)},
			map[string][2]int{"/a": {1, 1}, "/a/k": {1, 0}}, "",
		},
	}
	other := f.join()
	for _, test := range tests {
		base := f.path(test.name)
		below := func(ops []registry.Op) []registry.Op {
			for i := range ops {
				ops[i].Path = base + ops[i].Path
			}
			return ops
		}
		f.main.commit(append([]registry.Op{created(base)}, below(test.before)...)...)
		followers := []*member{f.join(), f.join()}
		for _, m := range followers {
			f.follow(m, base)
		}
		f.main.commit(below(test.change)...)
		for k, m := range followers {
			m.sync()
			got := sums(m.received())
			for path, want := range test.want {
				if got[base+path] != want {
					f.Errorf("%s, session %d: %v of %s, want %v", test.name, k, got[base+path], path, want)
				}
			}
			if len(got) != len(test.want) || test.gone != "" && !slices.Contains(m.received(), goneAt(base+test.gone)) {
				f.Errorf("%s, session %d: events %v", test.name, k, m.received())
			}
		}
	}
	other.sync()
	if events := other.received(); len(events) > 0 {
		f.Errorf("a session that follows nothing received %v", events)
	}
}

// testFollowOrder creates nodes one after the other, not in the order of their names.
func testFollowOrder(f *fixture) {
	follower := f.join()
	f.follow(follower, f.root)
	const nodes = 20
	var want []string
	for i := range nodes {
		want = append(want, f.path(string(rune('a'+(i*7)%nodes))))
		f.main.commit(created(want[i]))
	}
	follower.sync()
	var got []string
	for _, e := range follower.received() {
		if e.Changes > 0 {
			got = append(got, e.Path)
		}
	}
	if !slices.Equal(got, want) {
		f.Errorf("events of %v\nwant %v", got, want)
	}
}

// testFollowCounts changes nodes several times in one transaction, and then sends transactions
// that change nothing.
func testFollowCounts(f *fixture) {
	p := f.path("p")
	f.main.commit(created(p))
	f.follow(f.main, p)
	f.main.commit(set(p, "a", 0), created(p+"/k"), set(p, "b", 1), created(p+"/l"), set(p+"/k", "c", 0))
	got := sums(f.main.received())
	if got[p] != [2]int{2, 1} || got[p+"/k"] != [2]int{2, 0} || got[p+"/l"] != [2]int{1, 0} {
		f.Errorf("events %v", f.main.received())
	}
	before := len(f.main.received())
	if _, err := f.main.Commit(f.ctx, set(p, "c", 2), check(p, 7)); err == nil {
		f.Error("not refused")
	}
	f.main.commit(check(p, 2))
	f.main.sync()
	if events := f.main.received(); len(events) != before {
		f.Errorf("events of what did not happen: %v", events[before:])
	}
}

// testFollowOwn counts the events that have come when a commit returns.
func testFollowOwn(f *fixture) {
	p := f.path("p")
	f.follow(f.main, f.root)
	for i := range int32(50) {
		op := set(p, "x", i-1)
		if i == 0 {
			op = created(p)
		}
		f.main.commit(op)
		if got := sums(f.main.received())[p][0]; got != int(i)+1 {
			f.Fatalf("%d events with the reply of commit %d", got, i)
		}
	}
}

// testFollowTwo creates nodes at two followed roots, and one at neither.
func testFollowTwo(f *fixture) {
	a, b, c := f.path("a"), f.path("b"), f.path("c")
	f.follow(f.main, a)
	f.follow(f.main, b)
	f.main.commit(created(a), created(b), created(c))
	got := f.main.received()
	slices.SortFunc(got, func(x, y registry.Event) int { return cmp.Compare(x.Path, y.Path) })
	if want := []registry.Event{{Kind: registry.Changed, Path: a, Changes: 1}, {Kind: registry.Changed, Path: b, Changes: 1}}; !slices.Equal(got, want) {
		f.Errorf("events %v", got)
	}
}

// testFollowLast reads a node after each of its events. It ends only if the last read shows the
// last change.
func testFollowLast(f *fixture) {
	other := f.join()
	p := f.path("p")
	f.main.commit(created(p))
	f.follow(f.main, p)
	const sets = 100
	go func() {
		for i := range int32(sets) {
			if _, err := other.Commit(f.ctx, set(p, "x", i)); err != nil {
				f.Errorf("commit: %v", err)
			}
		}
	}()
	seen := 0
	for version := int32(0); version < sets; {
		f.main.await(func(events []registry.Event) bool {
			if len(events) == seen {
				return false
			}
			seen = len(events)
			return true
		})
		version = f.main.read(p).Stat.Version
	}
}

// testFollowEnded changes a node after a session that followed it has ended.
func testFollowEnded(f *fixture) {
	m := f.join()
	f.follow(m, f.root)
	m.close()
	if err := m.Follow(f.ctx, f.root); err == nil {
		f.Error("an ended session follows")
	}
	f.main.commit(created(f.path("a")))
	for _, e := range m.received() {
		if e.Kind == registry.Changed {
			f.Errorf("event %v", e)
		}
	}
}
