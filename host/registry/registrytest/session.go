package registrytest

import (
	"errors"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

var sessionTests = []subtest{
	{"sessions have identities and time-outs", testIdentity},
	{"ephemeral nodes belong to their session and go with it", testEphemerals},
	{"the end of a session is one transaction", testEndAtOnce},
	{"an ended session refuses everything", testUseAfterClose},
	{"ended is the last event", testEndedLast},
	{"closing the registry ends every session", testRegistryClose},
	{"the clock goes forward and dates the nodes", testTime},
	{"what the service acknowledged counts from when it was sent", testAcknowledged},
	{"a transaction counts from before it was carried out", testCountsFromSending},
	{"a read is no acknowledgement", testReadsAcknowledgeNothing},
}

// slack is how much the clocks of a service's servers may differ.
const slack = time.Second

// testIdentity compares two sessions. A time-out of 0 means that sessions have none.
func testIdentity(f *fixture) {
	other := f.join()
	if f.main.ID() == 0 || other.ID() == 0 || f.main.ID() == other.ID() {
		f.Errorf("ids %d and %d", f.main.ID(), other.ID())
	}
	if f.main.Timeout() < 0 {
		f.Errorf("time-out %v", f.main.Timeout())
	}
}

// testEphemerals ends a session that owns a node, one that was deleted before, and a persistent
// one.
func testEphemerals(f *fixture) {
	owner := f.join()
	f.follow(f.main, f.root)
	e, gone, kept := f.path("e"), f.path("gone"), f.path("kept")
	owner.commit(ephemeral(e), ephemeral(gone), created(kept))
	f.main.sync()
	if n := f.main.read(e); n.Stat.Owner != owner.ID() {
		f.Errorf("owner %d, want %d", n.Stat.Owner, owner.ID())
	}
	f.main.commit(remove(gone)) // any session may delete it
	owner.close()
	f.main.awaitEvent(goneAt(e))
	if f.main.read(e).Exists || !f.main.read(kept).Exists {
		f.Error("not what should be left")
	}
	// A new node of the same name belongs to another session.
	f.main.commit(ephemeral(e))
	if n := f.main.read(e); n.Stat.Owner != f.main.ID() {
		f.Errorf("owner %d, want %d", n.Stat.Owner, f.main.ID())
	}
}

// testEndAtOnce reads after the first event of a session's end: its other nodes must be gone as
// well.
func testEndAtOnce(f *fixture) {
	owner := f.join()
	p := f.path("p")
	f.main.commit(created(p))
	owner.commit(ephemeral(p+"/a"), ephemeral(p+"/b"), ephemeral(p+"/c"))
	f.main.sync()
	f.follow(f.main, p)
	n := f.main.read(p)
	if len(n.Children) != 3 {
		f.Fatalf("children %v", n.Children)
	}
	owner.close()
	f.main.await(func(events []registry.Event) bool { return len(events) > 0 })
	if n := f.main.read(p); len(n.Children) > 0 {
		f.Errorf("the first event showed %v left", n.Children)
	}
}

// testUseAfterClose calls every method of a session that has ended. Its time-out stays, as 0 would
// say that it can never end.
func testUseAfterClose(f *fixture) {
	m := f.join()
	granted := m.Timeout()
	m.close()
	m.awaitEvent(registry.Event{Kind: registry.Ended})
	if now := m.Timeout(); now != granted {
		f.Errorf("the time-out was %v and is %v", granted, now)
	}
	a := f.path("a")
	_, commitErr := m.Commit(f.ctx, created(a))
	_, readErr := m.Read(f.ctx, a)
	_, timeErr := m.Time(f.ctx)
	for name, err := range map[string]error{
		"commit": commitErr, "read": readErr, "time": timeErr, "sync": m.Sync(f.ctx), "persist": m.Persist(f.ctx),
	} {
		if !errors.Is(err, registry.ErrEnded) {
			f.Errorf("%s: %v", name, err)
		}
	}
	if err := m.Close(); err != nil {
		f.Errorf("second close: %v", err)
	}
	f.main.sync()
	if f.main.read(a).Exists {
		f.Error("the commit went through")
	}
}

// testEndedLast changes a node that an ended session followed; Ended must stay its last event.
func testEndedLast(f *fixture) {
	m := f.join()
	a, e := f.path("a"), f.path("e")
	m.commit(ephemeral(e))
	f.follow(m, f.root)
	f.follow(f.main, f.root)
	m.close()
	ended := registry.Event{Kind: registry.Ended}
	m.awaitEvent(ended)
	// The fixture's session receives this event later than the other one would.
	f.main.commit(created(a))
	if got := sums(f.main.received())[a]; got[0] != 1 {
		f.Errorf("events %v", f.main.received())
	}
	events := m.received()
	if events[len(events)-1] != ended || slices.Index(events, ended) != len(events)-1 {
		f.Errorf("events %v", events)
	}
}

// testRegistryClose closes the registry while sessions are open. Its root is deleted before,
// since nothing can do so afterwards.
func testRegistryClose(f *fixture) {
	others := []*member{f.join(), f.join()}
	others[0].commit(ephemeral(f.path("e")))
	if err := removeBelow(f.ctx, others[1], f.root); err != nil {
		f.Fatalf("clean up: %v", err)
	}
	if err := f.registry.Close(); err != nil {
		f.Fatalf("close: %v", err)
	}
	for _, m := range append(others, f.main) {
		events := m.awaitEvent(registry.Event{Kind: registry.Ended})
		if events[len(events)-1].Kind != registry.Ended {
			f.Errorf("events %v", events)
		}
		if _, err := m.Read(f.ctx, f.root); !errors.Is(err, registry.ErrEnded) {
			f.Errorf("read: %v", err)
		}
	}
	if _, err := f.registry.Open(f.ctx, func(registry.Event) {}); err == nil {
		f.Error("opened a session on a closed registry")
	}
}

// testTime compares the service's clock before and after a set with the time of the set.
func testTime(f *fixture) {
	now := func() time.Time {
		f.Helper()
		at, err := f.main.Time(f.ctx)
		if err != nil {
			f.Fatalf("time: %v", err)
		}
		return at
	}
	before := now()
	f.main.commit(created(f.path("a")))
	answered := f.main.commit(set(f.path("a"), "b", registry.AnyVersion)).At
	at := f.main.read(f.path("a")).Stat.ModifiedAt
	after := now()
	if answered.IsZero() && f.main.Timeout() > 0 || !answered.IsZero() && !answered.Equal(at) {
		f.Errorf("set at %v, and the receipt says %v", at, answered)
	}
	if after.Before(before.Add(-slack)) {
		f.Errorf("the clock went from %v back to %v", before, after)
	}
	if at.Before(before.Add(-slack)) || at.After(after.Add(slack)) {
		f.Errorf("made at %v, between %v and %v", at, before, after)
	}
}

// testAcknowledged checks that a transaction, even a refused one, counts from when it was sent or
// later.
func testAcknowledged(f *fixture) {
	begun := time.Now()
	m := f.join()
	last := m.Acknowledged()
	if last.Before(begun) {
		f.Errorf("%v before it was opened", begun.Sub(last))
	}
	for name, ask := range map[string]func(){
		"commit": func() { m.commit(created(f.path("a"))) },
		"sync":   m.sync,
	} {
		sent := time.Now()
		ask()
		now := m.Acknowledged()
		if now.Before(sent) || now.Before(last) || now.After(time.Now()) {
			f.Errorf("%s: it was sent at %v or later, and %v says the session; before that it was %v", name, sent, now, last)
		}
		last = now
	}
	_, err := m.Commit(f.ctx, remove(f.path("none")))
	if now := m.Acknowledged(); !errors.Is(err, registry.ErrConflict) || now.Before(last) {
		f.Errorf("after %v: %v, before that %v", err, now, last)
	}
}

// testCountsFromSending: the event of a transaction shows when it was applied.
func testCountsFromSending(f *fixture) {
	if f.main.Timeout() == 0 {
		return // the session has no time-out
	}
	received := make(chan time.Time, 1)
	s, err := f.registry.Open(f.ctx, func(e registry.Event) {
		if e.Kind == registry.Changed {
			select {
			case received <- time.Now():
			default:
			}
		}
	})
	if err != nil {
		f.Fatalf("open session: %v", err)
	}
	if err := s.Follow(f.ctx, f.root); err != nil {
		f.Fatalf("follow: %v", err)
	}
	if _, err := s.Commit(f.ctx, set(f.root, "x", registry.AnyVersion)); err != nil {
		f.Fatalf("commit: %v", err)
	}
	if at := <-received; s.Acknowledged().After(at) {
		f.Errorf("the session counts from %v after the event of the transaction", s.Acknowledged().Sub(at))
	}
}

// testReadsAcknowledgeNothing: the session's own keep-alives may coincide with some reads, but
// not with all of them.
func testReadsAcknowledgeNothing(f *fixture) {
	if f.main.Timeout() == 0 {
		return // the session has no time-out
	}
	for range 100 {
		begun := time.Now()
		f.main.read(f.root)
		if f.main.Acknowledged().Before(begun) {
			return
		}
	}
	f.Error("each read counts as a sign of life")
}
