package registrytest

import (
	"slices"
	"strconv"
	"sync"

	"github.com/wasmjob/wasmjob/host/registry"
)

var viewTests = []subtest{
	{"no read shows a change whose event is still to come", testEventBeforeReply},
	{"reads that arm, without an event, show one moment", testOneMoment},
	{"a reader that re-reads on events misses no change", testNoneMissed},
	{"sync shows what others committed before", testSync},
}

// rounds is how often the writers of these tests write.
const rounds = 1000

// busy runs write once for each round beside body, in a session of its own,
// and waits for it.
func (f *fixture) busy(write func(m *member, round int) []registry.Op, body func(over func() bool)) {
	m := f.join()
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for i := range rounds {
			if _, err := m.Commit(f.ctx, write(m, i)...); err != nil {
				f.Errorf("round %d: %v", i, err)
				return
			}
		}
	})
	body(func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	group.Wait()
}

// testEventBeforeReply arms a watch and reads until it sees a change: by then
// the event must have been delivered, or a mirror that applies events and
// replies as they come would hold the new value and think it current.
func testEventBeforeReply(f *fixture) {
	a := f.path("a")
	f.main.commit(created(a))
	f.busy(func(_ *member, i int) []registry.Op {
		switch i % 3 {
		case 0:
			return []registry.Op{created(a + "/k")}
		case 1:
			return []registry.Op{remove(a + "/k")}
		}
		return []registry.Op{set(a, strconv.Itoa(i), registry.AnyVersion)}
	}, func(over func() bool) {
		for !over() {
			before := len(f.main.heard())
			armed := f.main.read(a, true)
			for !over() {
				if got := f.main.read(a, false); show(got) != show(armed) {
					if len(f.main.heard()) == before {
						f.Errorf("read %+v after %+v without an event", got, armed)
					}
					break
				}
			}
		}
	})
}

// testOneMoment reads two nodes that are always set together. If no event came
// by the second reply, the two are of one moment.
func testOneMoment(f *fixture) {
	a, b := f.path("a"), f.path("b")
	f.main.commit(create(a, "0"), create(b, "0"))
	f.busy(func(_ *member, i int) []registry.Op {
		data := strconv.Itoa(i)
		return []registry.Op{set(a, data, registry.AnyVersion), set(b, data, registry.AnyVersion)}
	}, func(over func() bool) {
		for !over() {
			before := len(f.main.heard())
			na, nb := f.main.read(a, true), f.main.read(b, true)
			torn := string(na.Data) != string(nb.Data) || na.Stat.Modified != nb.Stat.Modified
			if torn && len(f.main.heard()) == before {
				f.Errorf("%s of %d beside %s of %d", na.Data, na.Stat.Modified, nb.Data, nb.Stat.Modified)
			}
		}
	})
}

// testNoneMissed follows a node by events alone and must arrive at its last
// version; each event must lead to something new.
func testNoneMissed(f *fixture) {
	a := f.path("a")
	f.main.commit(created(a))
	f.busy(func(_ *member, _ int) []registry.Op {
		return []registry.Op{set(a, "", registry.AnyVersion)}
	}, func(func() bool) {
		n := f.main.read(a, true)
		for seen := 0; n.Stat.Version < rounds && !f.Failed(); {
			seen++
			events := f.main.await(func(events []registry.Event) bool { return len(events) >= seen })
			if len(events) > seen {
				f.Errorf("%d events of %d watches", len(events), seen)
				return
			}
			next := f.main.read(a, true)
			if next.Stat.Version <= n.Stat.Version {
				f.Errorf("version %d after an event on %d", next.Stat.Version, n.Stat.Version)
			}
			n = next
		}
	})
}

func testSync(f *fixture) {
	other := f.join()
	for i := range 20 {
		path := f.path(strconv.Itoa(i))
		f.main.commit(created(path))
		other.sync()
		if !other.read(path, false).Exists || !slices.Contains(other.read(f.root, false).Children, strconv.Itoa(i)) {
			f.Errorf("%s not seen after sync", path)
		}
	}
}
