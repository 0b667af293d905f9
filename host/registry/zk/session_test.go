package zk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// A session survives, expires or ends as its connection fails.
func TestSession(t *testing.T) {
	t.Parallel()
	server := serving(t)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, server *zktest.Server)
	}{
		{"grants what the server grants", testGranted},
		{"an owner that cannot connect hears of the end when it can", testExpired},
		{"an owner that hears nothing trusts itself no more", testFrozen},
		{"a session survives a short cut", testResumed},
		{"a commit whose reply is lost has an unknown outcome", testLostReply},
		{"sync waits for what nobody waits for any more", testLate},
		{"a commit waits for the connection", testCommitWaits},
		{"a commit that was not sent has no unknown outcome", testNotSent},
		{"a session that was closed while cut off ends at once", testCloseCutOff},
		{"an end leaves nothing under way", testEndUnderWay},
		{"a silent server does not keep others from being tried", testSilentServer},
		{"beats go to the leader and are counted", testAcknowledged},
		{"a sync counts from when it was sent", testSyncCountsFromSending},
		{"what is followed is followed on the next connection", testFollowResumed},
		{"reads that wait for the connection are answered together", testReadsTogether},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, server)
		})
	}
}

func testGranted(t *testing.T, server *zktest.Server) {
	for _, c := range []struct{ asked, granted time.Duration }{
		{2*tick - time.Millisecond, 2 * tick}, {3 * tick, 3 * tick}, {time.Minute, 20 * tick},
	} {
		m := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: c.asked})
		if got := m.Timeout(); got != c.granted {
			t.Errorf("asked for %v, granted %v, want %v", c.asked, got, c.granted)
		}
	}
}

func testExpired(t *testing.T, server *zktest.Server) {
	p, owner, observer := behind(t, server, brief)
	owner.commit(create("/expired"), ephemeral("/expired/e"))
	observer.sync()
	p.Set(zktest.Refuse)
	owner.awaitKind(registry.Suspended)
	observer.awaitGone("/expired/e")
	if slices.Contains(owner.received(), registry.Event{Kind: registry.Ended}) {
		t.Error("the owner cannot know yet")
	}
	made := make(chan error, 1)
	go func() { // it waits for a connection when the session ends
		_, err := owner.Commit(owner.ctx, ephemeral("/expired/late"))
		made <- err
	}()
	p.Set(zktest.Pass)
	events := owner.awaitKind(registry.Ended)
	if got := owner.Timeout(); got != brief {
		t.Errorf("the time-out was %v and is %v", brief, got)
	}
	if err := <-made; !errors.Is(err, registry.ErrEnded) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a commit over the end: %v", err)
	}
	want := []registry.Event{{Kind: registry.Suspended}, {Kind: registry.Ended}}
	if !slices.Equal(events, want) {
		t.Errorf("events %v, want %v", events, want)
	}
	_, err := owner.Commit(owner.ctx, ephemeral("/expired/e"))
	if !errors.Is(err, registry.ErrEnded) {
		t.Errorf("commit after the end: %v", err)
	}
	if err := owner.Close(); err != nil {
		t.Error(err)
	}
	observer.sync()
	if n := observer.read("/expired"); len(n.Children) > 0 {
		t.Errorf("a write slid into another session: %v", n.Children)
	}
}

func testFrozen(t *testing.T, server *zktest.Server) {
	p, owner, observer := behind(t, server, brief)
	owner.commit(create("/frozen"), ephemeral("/frozen/e"))
	observer.sync()
	p.Set(zktest.Freeze)
	_, readErr := owner.Read(owner.ctx, "/frozen")
	_, commitErr := owner.Commit(owner.ctx, set("/frozen", "x"))
	acked := owner.Acknowledged()
	if readErr == nil || commitErr == nil {
		t.Errorf("answers out of a frozen connection: %v, %v", readErr, commitErr)
	}
	owner.awaitKind(registry.Suspended)
	observer.awaitGone("/frozen/e")
	if now := owner.Acknowledged(); now != acked {
		t.Errorf("acknowledged at %v, then at %v", acked, now)
	}
	p.Set(zktest.Pass)
	owner.awaitKind(registry.Ended)
}

func testResumed(t *testing.T, server *zktest.Server) {
	p, owner, observer := behind(t, server, long)
	owner.commit(create("/resumed"), ephemeral("/resumed/e"))
	p.Cut()
	got := owner.awaitKind(registry.Resumed)
	if n := owner.read("/resumed/e"); n.Stat.Owner != owner.ID() {
		t.Errorf("the ephemeral node: %+v", n)
	}
	observer.sync()
	if !observer.read("/resumed/e").Exists {
		t.Error("the ephemeral node is gone")
	}
	if want := []registry.Event{{Kind: registry.Suspended}, {Kind: registry.Resumed}}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func testLostReply(t *testing.T, server *zktest.Server) {
	p, owner, observer := behind(t, server, long)
	observer.commit(create("/lost"))
	observer.follow("/lost")
	p.Set(zktest.Mute)
	outcome := make(chan error, 1)
	go func() {
		_, err := owner.Commit(owner.ctx, registry.Op{Kind: registry.CreateSequential, Path: "/lost/n-"})
		outcome <- err
	}()
	observer.await(registry.Event{Kind: registry.Changed, Path: "/lost"})
	p.Set(zktest.Refuse)
	if err := <-outcome; !errors.Is(err, registry.ErrUnknown) {
		t.Errorf("outcome: %v", err)
	}
	p.Set(zktest.Pass)
	owner.sync()
	if n := owner.read("/lost"); !slices.Equal(n.Children, []string{"n-0000000000"}) {
		t.Errorf("applied: %v", n.Children)
	}
}

func testLate(t *testing.T, server *zktest.Server) {
	p, owner, observer := behind(t, server, long)
	p.Set(zktest.Freeze)
	ctx, cancel := context.WithCancel(owner.ctx)
	outcome := make(chan error, 1)
	go func() {
		_, err := owner.Commit(ctx, create("/late"))
		outcome <- err
	}()
	owner.awaitKind(registry.Suspended) // by then it was sent, or is about to be
	cancel()
	err := <-outcome
	p.Set(zktest.Pass)
	owner.sync()
	applied := owner.read("/late").Exists
	if applied && !errors.Is(err, registry.ErrUnknown) {
		t.Errorf("applied after %v", err)
	}
	// The outcome is final, whatever it was.
	observer.commit(create("/late-marker"))
	owner.sync()
	if again := owner.read("/late").Exists; again != applied {
		t.Errorf("there after sync: %v, later: %v", applied, again)
	}
}

func testCommitWaits(t *testing.T, server *zktest.Server) {
	p, owner, _ := behind(t, server, long)
	p.Set(zktest.Refuse)
	owner.awaitKind(registry.Suspended)
	outcome := make(chan error, 1)
	go func() {
		_, err := owner.Commit(owner.ctx, create("/waited"))
		outcome <- err
	}()
	p.Set(zktest.Pass)
	if err := <-outcome; err != nil {
		t.Errorf("outcome: %v", err)
	}
}

func testNotSent(t *testing.T, server *zktest.Server) {
	p, owner, observer := behind(t, server, long)
	p.Set(zktest.Refuse)
	owner.awaitKind(registry.Suspended)
	ctx, cancel := context.WithCancel(owner.ctx)
	cancel()
	for _, c := range []context.Context{ctx, owner.ctx} {
		c, end := context.WithTimeout(c, 2*tick)
		_, err := owner.Commit(c, create("/not-sent"))
		if end(); err == nil || errors.Is(err, registry.ErrUnknown) || errors.Is(err, registry.ErrEnded) {
			t.Errorf("outcome: %v", err)
		}
	}
	p.Set(zktest.Pass)
	owner.sync()
	observer.sync()
	if observer.read("/not-sent").Exists {
		t.Error("it was sent")
	}
}

func testCloseCutOff(t *testing.T, server *zktest.Server) {
	p, owner, _ := behind(t, server, long)
	p.Set(zktest.Refuse)
	owner.awaitKind(registry.Suspended)
	if err := owner.Close(); err != nil {
		t.Error(err)
	}
	owner.awaitKind(registry.Ended)
}

func testEndUnderWay(t *testing.T, server *zktest.Server) {
	p, owner, _ := behind(t, server, long)
	p.Set(zktest.Freeze)
	outcomes := make(chan error, 3)
	go func() { _, err := owner.Commit(owner.ctx, create("/under-way")); outcomes <- err }()
	go func() { _, err := owner.Read(owner.ctx, "/"); outcomes <- err }()
	go func() { outcomes <- owner.Sync(owner.ctx) }()
	if err := owner.Close(); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := <-outcomes; !errors.Is(err, registry.ErrEnded) && !errors.Is(err, registry.ErrUnknown) {
			t.Errorf("outcome: %v", err)
		}
	}
}

func testSilentServer(t *testing.T, server *zktest.Server) {
	silent := zktest.NewProxy(t, server.Address())
	silent.Set(zktest.Freeze)
	for range 4 { // the order is random
		m := join(t, zk.Options{Servers: []string{silent.Address(), server.Address()}, SessionTimeout: long})
		m.sync()
	}
}

func testAcknowledged(t *testing.T, server *zktest.Server) {
	p, owner, _ := behind(t, server, brief)
	owner.commit(create("/acknowledged"))
	before := owner.Acknowledged()
	if before.IsZero() {
		t.Fatal("a commit does not count")
	}
	for owner.Acknowledged().Equal(before) {
		// A read proves nothing about the leader.
		owner.read("/acknowledged")
	}
	p.Set(zktest.Freeze)
	owner.awaitKind(registry.Suspended)
}

// A registry that lost its data refuses old sessions without an answer.
func TestWiped(t *testing.T) {
	t.Parallel()
	server := serving(t)
	m := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: brief})
	m.commit(create("/wiped"))
	m.commit(create("/wiped/k"))
	server.Kill()
	server.Wipe()
	server.Restart()
	m.awaitKind(registry.Ended)
	again := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: brief})
	if again.read("/wiped").Exists {
		t.Error("it was not wiped")
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	server := serving(t)
	m := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long})
	m.commit(ephemeral("/e"))
	id := m.ID()
	server.Restart()
	m.awaitKind(registry.Resumed)
	if n := m.read("/e"); n.Stat.Owner != id || m.ID() != id {
		t.Errorf("session %d, the node: %+v", m.ID(), n)
	}
}

func TestOpen_absent(t *testing.T) {
	t.Parallel()
	p := zktest.NewProxy(t, "127.0.0.1:1")
	r := open(t, zk.Options{Servers: []string{p.Address()}, SessionTimeout: 300 * time.Millisecond})
	if _, err := r.Open(t.Context(), nil); err == nil {
		t.Error("a session with nobody")
	} else if !strings.Contains(err.Error(), p.Address()) || !strings.Contains(err.Error(), "EOF") && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the error does not tell who and why: %v", err)
	}
	within, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
	defer cancel()
	if _, err := r.Open(within, nil); err == nil || within.Err() == nil {
		t.Errorf("it gives up before the caller does: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Open(t.Context(), nil); !errors.Is(err, zk.ErrClosed) {
		t.Errorf("open after close: %v", err)
	}
}

func testFollowResumed(t *testing.T, server *zktest.Server) {
	p, owner, observer := behind(t, server, long)
	owner.commit(create("/followed"), create("/followed/a"))
	owner.follow("/followed")
	for i := range 3 {
		owner.forget()
		p.Cut()
		owner.awaitKind(registry.Resumed)
		path := fmt.Sprintf("/followed/a/%d", i)
		observer.commit(create(path))
		events := owner.await(registry.Event{Kind: registry.Changed, Path: path, Changes: 1})
		owner.sync()
		if want := (registry.Event{Kind: registry.Changed, Path: "/followed/a"}); !slices.Contains(owner.received(), want) {
			t.Errorf("nothing of the parent: %v", events)
		}
	}
}

func testReadsTogether(t *testing.T, server *zktest.Server) {
	p, owner, _ := behind(t, server, long)
	owner.commit(create("/together"), create("/together/a"), create("/together/parent"), create("/together/parent/k"))
	p.Set(zktest.Refuse)
	owner.awaitKind(registry.Suspended)
	ctx, cancel := context.WithCancel(owner.ctx)
	const each = 30
	var work sync.WaitGroup
	for range each {
		for path, is := range map[string]func(registry.Node) bool{
			"/together/a":      func(n registry.Node) bool { return n.Exists && n.Children == nil },
			"/together/none":   func(n registry.Node) bool { return !n.Exists },
			"/together/parent": func(n registry.Node) bool { return slices.Equal(n.Children, []string{"k"}) },
		} {
			work.Go(func() {
				if n, err := owner.Read(owner.ctx, path); err != nil || !is(n) {
					t.Errorf("%s: %+v, %v", path, n, err)
				}
			})
			work.Go(func() { // it gives up
				if _, err := owner.Read(ctx, path); err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", path, err)
				}
			})
		}
	}
	cancel()
	p.Set(zktest.Pass)
	work.Wait()
}
