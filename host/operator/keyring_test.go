package operator

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/registry"
)

// far is a registry whose sessions have a time-out, and can be cut off. Its clock is ahead
// of this machine's.
type far struct {
	registry.Registry
	ahead time.Duration

	mu       sync.Mutex // guards the fields below
	cut      chan struct{}
	after    func() // called once, between a read and its reply
	answered time.Time
}

// Open implements registry.Registry.
func (f *far) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := f.Registry.Open(ctx, on)
	return &farSession{s, f}, err
}

// setCut cuts the sessions off: they get events, but no answers.
func (f *far) setCut(cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil {
		close(f.cut)
	}
	f.cut, f.answered = nil, time.Now()
	if cut {
		f.cut = make(chan struct{})
	}
}

type farSession struct {
	registry.Session
	f *far
}

// Timeout implements registry.Session.
func (s *farSession) Timeout() time.Duration { return 10 * time.Second }

// Acknowledged implements registry.Session.
func (s *farSession) Acknowledged() time.Time {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if s.f.cut == nil {
		return time.Now()
	}
	return s.f.answered
}

// Time implements registry.Session.
func (s *farSession) Time(ctx context.Context) (time.Time, error) {
	if err := s.await(ctx); err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(s.f.ahead), nil
}

// Read implements registry.Session.
func (s *farSession) Read(ctx context.Context, path string) (registry.Node, error) {
	if err := s.await(ctx); err != nil {
		return registry.Node{}, err
	}
	n, err := s.Session.Read(ctx, path)
	s.f.mu.Lock()
	after := s.f.after
	s.f.after = nil
	s.f.mu.Unlock()
	if after != nil {
		after()
	}
	return n, err
}

// await waits until the session is not cut off.
func (s *farSession) await(ctx context.Context) error {
	s.f.mu.Lock()
	cut := s.f.cut
	s.f.mu.Unlock()
	if cut == nil {
		return nil
	}
	select {
	case <-cut:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: as the test wants it", registry.ErrUnknown)
	}
}

// While the registry cannot be reached, tokens are accepted for the time-out of the session, and
// none after that.
func TestTokensWithoutARegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		away := &far{Registry: reg}
		k := NewKeyring(away, "jobs", nil)
		secret := newToken(t, operate(t, reg), "ann", RoleViewer, 0)
		wantToken(t, k, "before it runs", secret, string(host.Unavailable))
		k = keyring(t, away)
		synctest.Wait()
		wantToken(t, k, "at first", secret, "ann viewer")
		away.setCut(true)
		time.Sleep(10 * time.Second)
		wantToken(t, k, "within the time-out", secret, "ann viewer")
		time.Sleep(1 * time.Nanosecond)
		wantToken(t, k, "after it", secret, string(host.Unavailable))
		if c, _ := k.Check(secret); c != (Caller{"ann", RoleViewer}) {
			t.Errorf("whose token it was is forgotten: %+v", c)
		}
		wantToken(t, k, "what is no token", "wjd_x", string(host.Denied))
		away.setCut(false)
		synctest.Wait()
		wantToken(t, k, "back", secret, "ann viewer")
	})
}

// If a change is seen but cannot be read, no token is accepted after a second.
func TestTokensThatCannotBeReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		away := &far{Registry: reg}
		o := operate(t, reg)
		ann, bob := newToken(t, o, "ann", RoleViewer, 0), newToken(t, o, "bob", RoleViewer, 0)
		k := keyring(t, away)
		synctest.Wait()
		away.setCut(true)
		if err := o.RevokeToken(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(staleTokens)
		wantToken(t, k, "bob's, within a second", bob, "bob viewer")
		time.Sleep(1 * time.Nanosecond)
		wantToken(t, k, "ann's", ann, string(host.Unavailable))
		wantToken(t, k, "bob's", bob, string(host.Unavailable))
		away.setCut(false)
		synctest.Wait()
		wantToken(t, k, "ann's, read again", ann, string(host.Denied))
		wantToken(t, k, "bob's, read again", bob, "bob viewer")
	})
}

// Unreadable tokens are logged once, and again if they were readable in between.
func TestTokensThatCannotBeReadAreLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		o := operate(t, reg)
		secret := newToken(t, o, "ann", RoleViewer, 0)
		n, err := o.Node(t.Context(), o.tree.Tokens())
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		k := NewKeyring(reg, "jobs", slog.New(slog.NewTextHandler(&log, nil)))
		var running sync.WaitGroup
		running.Go(func() { k.Run(t.Context()) })
		t.Cleanup(running.Wait)
		for turn := 1; turn <= 2; turn++ {
			put(t, o, registry.Set, o.tree.Tokens(), "damaged")
			time.Sleep(time.Hour)
			synctest.Wait()
			if n := strings.Count(log.String(), "cannot be read"); n != 2*turn { // the message, and its error
				t.Errorf("turn %d: %s", turn, &log)
			}
			put(t, o, registry.Set, o.tree.Tokens(), string(n.Data))
			time.Sleep(time.Minute)
			wantToken(t, k, "mended", secret, "ann viewer")
		}
	})
}

// A reply that is older than an event does not clear it.
func TestTokensRevokedWhileTheyAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		away := &far{Registry: reg}
		o := operate(t, reg)
		ann := newToken(t, o, "ann", RoleViewer, 0)
		k := keyring(t, away)
		synctest.Wait()
		away.mu.Lock()
		away.after = func() {
			if err := o.RevokeToken(t.Context(), "ann"); err != nil {
				t.Error(err)
			}
			away.setCut(true)
			time.Sleep(time.Millisecond) // virtual: the event comes meanwhile
		}
		away.mu.Unlock()
		other := operate(t, reg)
		newToken(t, other, "bob", RoleViewer, 0)
		time.Sleep(staleTokens + 2*time.Millisecond)
		wantToken(t, k, "ann's", ann, string(host.Unavailable))
		away.setCut(false)
		synctest.Wait()
		wantToken(t, k, "ann's, read again", ann, string(host.Denied))
	})
}

// A token expires by the registry's clock, not by the server's.
func TestTokensOnAServerWhoseClockIsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		secret := newToken(t, operate(t, reg), "ann", RoleViewer, time.Hour)
		right, behind := keyring(t, reg), keyring(t, &far{Registry: reg, ahead: 2 * time.Hour})
		synctest.Wait()
		wantToken(t, right, "on a server whose clock is right", secret, "ann viewer")
		wantToken(t, behind, "on one whose clock is behind", secret, string(host.Denied))
	})
}

// A check is cheap, even of a wrong token, and reads nothing.
func BenchmarkCheck(b *testing.B) {
	k := NewKeyring(nil, "jobs", nil)
	k.fault, k.session = "", &farSession{f: &far{}}
	k.clock = estimate{time.Now(), time.Now()}
	secret := ""
	for i := range 1000 {
		secret = newSecret()
		hash, err := hashOf(secret)
		if err != nil {
			b.Fatal(err)
		}
		k.hashes = append(k.hashes, hash[:])
		k.tokens.Add(clustertree.Token{Name: fmt.Sprintf("t%04d", i), Role: string(RoleViewer)})
	}
	for what, token := range map[string]string{"valid": secret, "unknown": newSecret(), "mistyped": secret[:61] + "!", "none": "x"} {
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				_, err := k.Check(token)
				if (err == nil) != (what == "valid") {
					b.Fatal(err)
				}
			}
		})
	}
}
