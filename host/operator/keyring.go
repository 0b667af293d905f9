package operator

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	// staleTokens is how long tokens are accepted after an event of their node, while it
	// is read again.
	staleTokens = time.Second
	// lookAgain is how often a Keyring asks for the registry's time, and looks for tokens
	// that expired long ago.
	lookAgain = time.Minute
	// openPatience limits one try to open a session.
	openPatience = 10 * time.Second
)

// Keyring caches the tokens of a cluster and the keys of its servers in the memory of a server, so
// that a check needs no request to the registry. Create it with NewKeyring; it accepts no token
// before Run has read them.
type Keyring struct {
	registry registry.Registry
	tree     clustertree.Tree
	log      *slog.Logger
	warned   string // the last warning of Run; empty after a successful read

	mu      sync.RWMutex // guards the fields below
	session registry.Session
	fault   string // why no token is accepted; empty: some may be
	tokens  clustertree.Tokens
	hashes  [][]byte // of tokens, in their order
	// sessions are the browser sessions. If they cannot be read, unread says why.
	sessions clustertree.Sessions
	unread   string
	roll     roll
	updated  chan struct{} // closed and replaced after each read of tokens and sessions
	events   int           // number of events after which the tokens may have changed
	changed  time.Time     // of the oldest event without a read since; zero: none
	clock    estimate
}

// estimate is a time of the registry, and when this server received it by its own clock.
type estimate struct{ theirs, at time.Time }

// now is the present time of the registry, or somewhat later.
func (e estimate) now() time.Time { return e.theirs.Add(since(e.at)) }

// since is the time since a moment. Go's monotonic clock does not count the sleep of a
// machine, and the wall clock may be set; the longer time counts, so that nothing is valid
// for too long.
func since(at time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(at), now.Round(0).Sub(at.Round(0)))
}

// NewKeyring returns a Keyring for the cluster with a namespace on a registry. Log must not
// block; nil discards.
func NewKeyring(r registry.Registry, namespace string, log *slog.Logger) *Keyring {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Keyring{registry: r, tree: clustertree.Of(namespace), log: log, fault: "the tokens have not been read yet", updated: make(chan struct{})}
}

// Check returns the caller with a token. If the token is not accepted, the error has the
// code Denied and wraps ErrToken. While the server cannot know which tokens are valid, it
// accepts none, and the code is Unavailable; the caller is then the one who had the token when
// the server last knew, if any.
func (k *Keyring) Check(token string) (Caller, error) {
	hash, err := hashOf(token)
	if err != nil {
		return Caller{}, err
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	var found clustertree.Token
	for i, have := range k.hashes { // all of them, so that the time reveals nothing
		if subtle.ConstantTimeCompare(have, hash[:]) == 1 {
			found = k.tokens.All[i]
		}
	}
	var caller Caller
	switch {
	case found.Name == "":
		err = failf(host.Denied, ErrToken, "the token is not known to this cluster; it was revoked, or is of another one")
	case expired(found, k.clock.now()):
		err = failf(host.Denied, ErrToken, "token %s has expired; ask for a new one", found.Name)
	default:
		caller = Caller{found.Name, Role(found.Role)}
	}
	if why := k.unsure(); why != "" {
		err = failf(host.Unavailable, nil, "no token is accepted at present: %s; try again", why)
	}
	return caller, err
}

// unsure says why the tokens in memory may be outdated; empty: they are not. mu is held.
func (k *Keyring) unsure() string {
	switch {
	case k.fault != "":
		return k.fault
	case !k.changed.IsZero() && since(k.changed) > staleTokens:
		return "they have changed, and could not be read again yet"
	}
	if most := k.session.Timeout(); most > 0 && since(k.session.Acknowledged()) > most {
		return "the registry has not answered for longer than the time-out of the session"
	}
	return ""
}

// Run keeps the tokens up to date until ctx ends. It removes those that expired long ago.
func (k *Keyring) Run(ctx context.Context) {
	session.Again(ctx, func() error {
		err := k.follow(ctx)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.session, k.fault = nil, "this server has no session of the registry"
		k.roll.own, k.roll.all = nil, nil
		return err
	}, func(err error) { k.warn(fmt.Errorf("no token is accepted until the registry is back: %w", err)) })
}

// follow reads the tokens, and reads them again when they change, for one session.
func (k *Keyring) follow(ctx context.Context) error {
	inbox := session.NewInbox()
	opening, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	s, err := k.registry.Open(opening, func(e registry.Event) {
		if e.Kind == registry.Changed || e.Kind == registry.Resumed { // a resumed session may have missed events
			k.notice()
		}
		inbox.Put(e)
	})
	if err != nil {
		return failf(host.Unavailable, err, "open a session")
	}
	defer func() { _ = s.Close() }() // nothing is lost with it
	for _, root := range []string{k.tree.Tokens(), k.tree.Sessions(), k.tree.Servers()} {
		if err := s.Follow(opening, root); err != nil {
			return failf(host.Unavailable, err, "follow the tokens")
		}
	}
	if err := session.CreateMissing(opening, s, k.tree.Parents()); err != nil { // askTime sets the root
		return readError(err, "make %s", k.tree.Root())
	}
	if err := k.askTime(opening, s); err != nil {
		return err
	}
	if err := k.newKey(); err != nil {
		return err
	}
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	retry := new(backoff.Backoff)
	for ctx.Err() == nil {
		events, _ := inbox.Take()
		for _, e := range events {
			if e.Kind == registry.Ended {
				return failf(host.Unavailable, nil, "the session has ended")
			}
		}
		if err := k.read(ctx, s); err != nil {
			k.warn(fmt.Errorf("the tokens cannot be read: %w", err))
			session.Sleep(ctx, retry.Next())
			continue
		}
		retry, k.warned = new(backoff.Backoff), ""
		select {
		case <-inbox.News():
		case <-again.C:
			_ = k.askTime(ctx, s) // on an error, the last estimate continues
			k.forget(ctx, s)
		case <-ctx.Done():
		}
	}
	return nil
}

// warn logs an error unless it is the same as the last one.
func (k *Keyring) warn(err error) {
	if text := err.Error(); text != k.warned {
		k.warned = text
		k.log.Warn("tokens cannot be checked against the registry", "error", err)
	}
}

// notice marks the tokens in memory as possibly outdated.
func (k *Keyring) notice() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events++
	if k.changed.IsZero() {
		k.changed = time.Now()
	}
}

// read reads the tokens, sessions and servers. If an event comes meanwhile, they stay marked
// as possibly outdated. If the registry does not answer, the earlier ones stay.
func (k *Keyring) read(ctx context.Context, s registry.Session) error {
	k.mu.RLock()
	events := k.events
	k.mu.RUnlock()
	all, _, err := readTokens(ctx, s, k.tree)
	var sessions clustertree.Sessions
	unread := ""
	if err == nil {
		sessions, _, err = readSessions(ctx, s, k.tree)
		if e, ok := errors.AsType[*host.Error](err); ok && e.Code != host.Unavailable {
			unread, err = e.Error(), nil // tokens can be checked without sessions
		}
	}
	var servers map[string]Server
	faulty := ""
	if err == nil {
		servers, err = k.readServers(ctx, s)
		if e, ok := errors.AsType[*host.Error](err); ok && e.Code != host.Unavailable {
			faulty, err = e.Error(), nil // and without servers
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := errors.AsType[*host.Error](err); ok {
		if e.Code != host.Unavailable {
			k.fault = e.Error()
		}
		return err
	}
	k.session, k.fault, k.tokens, k.hashes = s, "", all, nil
	k.sessions, k.unread = sessions, unread
	if faulty != "" && faulty != k.roll.fault {
		k.log.Warn("the other servers cannot be asked", "error", faulty)
	}
	k.roll.all, k.roll.fault = servers, faulty
	close(k.updated) // wakes AwaitSession
	k.updated = make(chan struct{})
	for _, t := range all.All {
		hash, _ := hex.DecodeString(t.Hash) // DecodeTokens has checked it
		k.hashes = append(k.hashes, hash)
	}
	if k.events == events {
		k.changed = time.Time{}
	}
	return nil
}

// askTime asks for the registry's time.
func (k *Keyring) askTime(ctx context.Context, s registry.Session) error {
	theirs, err := timeOf(ctx, s, k.tree)
	if err != nil {
		return readError(err, "ask the registry for its time")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock = estimate{theirs, time.Now()}
	return nil
}

// forget deletes tokens that expired long ago. Other servers may do the same, and a failure
// is made up for a minute later.
func (k *Keyring) forget(ctx context.Context, s registry.Session) {
	k.mu.RLock()
	some, now := k.tokens, k.clock.now()
	k.mu.RUnlock()
	if !forget(&some, now) {
		return
	}
	all, n, err := readTokens(ctx, s, k.tree)
	if err != nil || !n.Exists || !forget(&all, now) {
		return
	}
	if _, err := s.Commit(ctx, setOrCreate(k.tree.Tokens(), n, all.Encode())); err != nil {
		k.log.Info("expired tokens were not removed; the next try is in a minute", "error", err)
	}
}
