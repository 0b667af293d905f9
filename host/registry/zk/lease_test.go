package zk_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// TestSignOfLife reads the service's log, which has everything that counts for a session.
func TestSignOfLife(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(testing.TB) zktest.Release{"debian": zktest.Debian, "newer": zktest.Newer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := zktest.Start(t, release(t), zktest.Options{Tick: tick})
			maker := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long})
			maker.commit(create("/app"))
			join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long, Chroot: "/secret", Digest: "somebody:else"})
			for _, c := range []struct {
				name string
				o    zk.Options
				kind zktest.ChangeKind
			}{
				{"at the root", zk.Options{}, zktest.Checked},
				{"below a chroot", zk.Options{Chroot: "/app"}, zktest.Checked},
				{"that writes nothing", zk.Options{ReadOnly: true}, zktest.Checked},
				{"below a chroot of somebody else", zk.Options{ReadOnly: true, Chroot: "/secret"}, zktest.Refused},
				{"below a chroot that is not there", zk.Options{ReadOnly: true, Chroot: "/none"}, zktest.Refused},
			} {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.o.Servers, c.o.SessionTimeout = []string{server.Address()}, brief
					m := join(t, c.o)
					before := m.Acknowledged()
					for m.Acknowledged().Equal(before) {
						_, _ = m.Read(m.ctx, "/") // a read is no sign of life, and may be denied
						if m.ctx.Err() != nil {
							t.Fatal("no sign of life")
						}
					}
					if !slices.ContainsFunc(server.Log(), func(t zktest.Transaction) bool {
						return t.Session == int64(m.ID()) && len(t.Changes) == 1 && t.Changes[0].Kind == c.kind
					}) {
						t.Error("no transaction of the session is in the log")
					}
				})
			}
		})
	}
}

// testDeposed: a leader whose followers are silent continues for a while, and answers what it
// can answer alone. That must neither prove that a session lives nor settle an outcome.
func testDeposed(t *testing.T, leader *zktest.Server, followers []*zktest.Server) {
	t.Helper()
	quiet := join(t, zk.Options{Servers: []string{leader.Address()}, SessionTimeout: long})
	busy := join(t, zk.Options{Servers: []string{leader.Address()}, SessionTimeout: long})
	reader := join(t, zk.Options{Servers: []string{leader.Address()}, SessionTimeout: long})
	for _, f := range followers {
		f.Freeze()
	}
	stopped := time.Now()
	synced := make(chan error, 2)
	go func() { synced <- quiet.Sync(quiet.ctx) }()
	go func() {
		ctx, cancel := context.WithTimeout(busy.ctx, tick)
		defer cancel()
		_, err := busy.Commit(ctx, create("/held"))
		if !errors.Is(err, registry.ErrUnknown) {
			t.Errorf("a commit without a majority: %v", err)
		}
		synced <- busy.Sync(busy.ctx)
	}()
	for len(reader.received()) == 0 { // until the leader gives up
		if n, err := reader.Read(reader.ctx, "/held"); err == nil && n.Exists {
			t.Error("it is there without a majority")
		}
	}
	for range cap(synced) {
		select {
		case err := <-synced:
			if err == nil {
				t.Error("a sync without a majority")
			}
		default:
		}
	}
	for name, m := range map[string]*member{"quiet": quiet, "busy": busy, "reader": reader} {
		if at := m.Acknowledged(); at.After(stopped) {
			t.Errorf("%s: the session counts from %v after the leader was alone", name, at.Sub(stopped))
		}
	}
	for _, f := range followers {
		f.Signal(syscall.SIGCONT)
	}
	for _, m := range []*member{busy, reader} {
		for m.Sync(m.ctx) != nil { // on a busy machine an election takes longer than one Sync may
			if m.ctx.Err() != nil {
				t.Fatal("no sync although all are back")
			}
		}
	}
	if at := reader.Acknowledged(); !at.After(stopped) {
		t.Error("no sign of life when all are back")
	}
}

func testSyncCountsFromSending(t *testing.T, server *zktest.Server) {
	p, owner, _ := behind(t, server, long)
	p.Set(zktest.Mute)
	acked := make(chan time.Time, 1)
	go func() {
		owner.sync()
		acked <- owner.Acknowledged()
	}()
	for !slices.ContainsFunc(server.Log(), func(t zktest.Transaction) bool {
		return t.Session == int64(owner.ID()) && t.Changes[0].Kind == zktest.Checked
	}) {
		if owner.ctx.Err() != nil {
			t.Fatal("the sync is not in the log")
		}
	}
	carriedOut := time.Now()
	p.Set(zktest.Pass)
	if at := <-acked; at.After(carriedOut) {
		t.Errorf("the session counts from %v after the sync was carried out", at.Sub(carriedOut))
	}
}
