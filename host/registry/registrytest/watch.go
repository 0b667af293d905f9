package registrytest

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/registry"
)

var watchTests = []subtest{
	{"each change fires once, in every session that watches", testWatchKinds},
	{"two reads arm one watch", testArmTwice},
	{"a read that does not arm hears nothing", testUnarmed},
	{"an own change is heard before its reply", testOwnEvent},
	{"events come in the order of the transactions", testEventOrder},
	{"a change of both data and children fires once", testBothAtOnce},
}

func testWatchKinds(f *fixture) {
	tests := []struct {
		name           string
		before, change []registry.Op
		again          []registry.Op // must not fire any more
	}{
		{"set", []registry.Op{created("/a")}, []registry.Op{set("/a", "x", 0)}, []registry.Op{set("/a", "y", 1)}},
		{"set to the same", []registry.Op{created("/a")}, []registry.Op{set("/a", "", 0)}, nil},
		{"child made", []registry.Op{created("/a")}, []registry.Op{created("/a/k")}, []registry.Op{remove("/a/k")}},
		{"child deleted", []registry.Op{created("/a"), created("/a/k")}, []registry.Op{remove("/a/k")}, []registry.Op{set("/a", "", 0)}},
		{"made", nil, []registry.Op{created("/a")}, []registry.Op{set("/a", "", 0), created("/a/k")}},
		{"deleted", []registry.Op{created("/a")}, []registry.Op{remove("/a")}, []registry.Op{created("/a")}},
	}
	for _, test := range tests {
		base := f.path(test.name)
		below := func(ops []registry.Op) []registry.Op {
			ops = slices.Clone(ops)
			for i := range ops {
				ops[i].Path = base + ops[i].Path
			}
			return ops
		}
		f.main.commit(append([]registry.Op{created(base), created(base + "/marker")}, below(test.before)...)...)
		watcher, other := f.join(), f.join()
		for _, m := range []*member{watcher, other} {
			m.sync()
			m.read(base+"/a", true)
			m.read(base+"/marker", true)
		}
		f.main.commit(below(test.change)...)
		if test.again != nil {
			f.main.commit(below(test.again)...)
		}
		f.main.commit(set(base+"/marker", "", 0))
		want := []registry.Event{changedAt(base + "/a"), changedAt(base + "/marker")}
		for _, m := range []*member{watcher, other} {
			if got := m.awaitEvent(want[1]); !slices.Equal(got, want) {
				f.Errorf("%s: events %v", test.name, got)
			}
		}
	}
	if events := f.main.heard(); len(events) > 0 {
		f.Errorf("who watches nothing heard %v", events)
	}
}

func testArmTwice(f *fixture) {
	a, marker := f.path("a"), f.path("marker")
	f.main.commit(created(a), created(marker))
	f.main.read(a, true)
	f.main.read(a, true)
	f.main.read(marker, true)
	f.main.commit(set(a, "", 0))
	f.main.commit(set(marker, "", 0))
	if got := f.main.awaitEvent(changedAt(marker)); !slices.Equal(got, []registry.Event{changedAt(a), changedAt(marker)}) {
		f.Errorf("events %v", got)
	}
}

func testUnarmed(f *fixture) {
	a, marker := f.path("a"), f.path("marker")
	f.main.commit(created(a), created(marker))
	f.main.read(a, false)
	f.main.read(marker, true)
	f.main.commit(set(a, "", 0), created(a+"/k"))
	f.main.commit(set(marker, "", 0))
	if got := f.main.awaitEvent(changedAt(marker)); !slices.Equal(got, []registry.Event{changedAt(marker)}) {
		f.Errorf("events %v", got)
	}
}

func testOwnEvent(f *fixture) {
	a := f.path("a")
	f.main.read(a, true)
	f.main.commit(created(a))
	if got := f.main.heard(); !slices.Equal(got, []registry.Event{changedAt(a)}) {
		f.Errorf("events after the reply: %v", got)
	}
}

func testEventOrder(f *fixture) {
	watcher := f.join()
	paths := make([]string, 20)
	var want []registry.Event
	for i := range paths {
		paths[i] = f.path(string(rune('a' + (i*7)%len(paths))))
		watcher.read(paths[i], true)
		want = append(want, changedAt(paths[i]))
	}
	for _, path := range paths {
		f.main.commit(created(path))
	}
	if got := watcher.awaitEvent(want[len(want)-1]); !slices.Equal(got, want) {
		f.Errorf("events %v\nwant %v", got, want)
	}
}

func testBothAtOnce(f *fixture) {
	a, marker := f.path("a"), f.path("marker")
	f.main.commit(created(a), created(marker))
	f.main.read(a, true)
	f.main.read(marker, true)
	f.main.commit(created(a+"/k"), set(a, "x", 0))
	f.main.commit(set(marker, "", 0))
	if got := f.main.awaitEvent(changedAt(marker)); !slices.Equal(got, []registry.Event{changedAt(a), changedAt(marker)}) {
		f.Errorf("events %v", got)
	}
}
