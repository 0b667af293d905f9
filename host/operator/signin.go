package operator

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/registry"
)

// SessionLife is how long a browser stays signed in, unless its token ends before.
const SessionLife = 12 * time.Hour

// SignedIn is a browser session.
type SignedIn struct {
	Caller
	Secret string // the value of its cookie
	// Proof must come with the cookie in a write. It cannot be computed from the cookie alone, which
	// browsers send to every port of a machine.
	Proof string
	Until time.Time
}

// proofOf is the Proof of a session. Its key is the hash of the token, which the registry stores and
// only the bearer of the token can compute.
func proofOf(secret, tokenHash string) string {
	m := hmac.New(sha256.New, []byte(tokenHash))
	_, _ = m.Write([]byte("write with " + secret))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// SignIn begins a browser session for the bearer of a token, on all servers. Its secrets
// cannot be read again. If the token has too many sessions, the oldest one ends.
func (o *Operator) SignIn(ctx context.Context, token string) (in SignedIn, err error) {
	const what = "sign in"
	hash, err := hashOf(token)
	if err != nil {
		return in, err
	}
	secret := newSecret()
	own, err := hashOf(secret)
	if err != nil {
		return in, err
	}
	one := clustertree.Session{Hash: hex.EncodeToString(own[:]), Token: hex.EncodeToString(hash[:])}
	err = o.changeSessions(ctx, what, func(all *clustertree.Sessions, tokens clustertree.Tokens, now time.Time) (bool, error) {
		i := slices.IndexFunc(tokens.All, func(t clustertree.Token) bool { return t.Hash == one.Token })
		if i < 0 || expired(tokens.All[i], now) {
			return false, failf(host.Denied, ErrToken, "%s: the token has expired, or was revoked", what)
		}
		if _, there := all.Find(one.Hash); there { // an earlier try without an answer was applied
			return false, nil
		}
		in.Name, in.Role = tokens.All[i].Name, Role(tokens.All[i].Role)
		one.Until = now.Add(SessionLife).UnixMilli()
		if end := tokens.All[i].Until; end != 0 {
			one.Until = min(one.Until, end)
		}
		if !all.Add(one) {
			return false, failf(host.Refused, nil, "%s: there are %d sessions of browsers, which is the limit; sign out elsewhere, or wait until some expire", what, clustertree.MaxSessions)
		}
		return true, nil
	})
	if err != nil || o.dry {
		return SignedIn{}, err
	}
	in.Secret, in.Proof, in.Until = secret, proofOf(secret, one.Token), time.UnixMilli(one.Until)
	return in, nil
}

// SignOut ends the session with a secret on all servers.
func (o *Operator) SignOut(ctx context.Context, secret string) error {
	own, err := hashOf(secret)
	if err != nil {
		return err
	}
	hash := hex.EncodeToString(own[:])
	return o.changeSessions(ctx, "sign out", func(all *clustertree.Sessions, _ clustertree.Tokens, _ time.Time) (bool, error) {
		return all.Remove(func(s clustertree.Session) bool { return s.Hash == hash }), nil
	})
}

// changeSessions changes the sessions, and removes those that have ended.
func (o *Operator) changeSessions(ctx context.Context, what string, change func(*clustertree.Sessions, clustertree.Tokens, time.Time) (bool, error)) error {
	return o.changeState(ctx, what, &deed{verb: what, unaudited: true}, func(now time.Time) ([]registry.Op, error) {
		tokens, _, err := readTokens(ctx, o.session, o.tree)
		if err != nil {
			return nil, err
		}
		all, n, err := readSessions(ctx, o.session, o.tree)
		if err != nil {
			return nil, err
		}
		all.Remove(func(s clustertree.Session) bool {
			return now.UnixMilli() >= s.Until || !slices.ContainsFunc(tokens.All, func(t clustertree.Token) bool { return t.Hash == s.Token })
		})
		if write, err := change(&all, tokens, now); err != nil || !write {
			return nil, err
		}
		return []registry.Op{setOrCreate(o.tree.Sessions(), n, all.Encode())}, nil
	})
}

// readSessions reads all browser sessions, and their node.
func readSessions(ctx context.Context, s registry.Requests, tree clustertree.Tree) (clustertree.Sessions, registry.Node, error) {
	n, err := s.Read(ctx, tree.Sessions())
	if err != nil {
		return clustertree.Sessions{}, n, readError(err, "read the sessions of browsers")
	}
	all, err := clustertree.DecodeSessions(n.Data)
	if err != nil {
		return clustertree.Sessions{}, n, failf(host.Refused, err, "the sessions of browsers at %s cannot be read, and none is accepted: a newer release wrote them, or delete that node and sign in anew", tree.Sessions())
	}
	return all, n, nil
}

// Session returns the session with a secret. A session is valid at most as long as its token. The
// codes of errors are those of Check.
func (k *Keyring) Session(secret string) (SignedIn, error) {
	own, err := hashOf(secret)
	if err != nil {
		return SignedIn{}, err
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	why := k.unsure()
	if why == "" {
		why = k.unread
	}
	if why != "" {
		return SignedIn{}, failf(host.Unavailable, nil, "no session of a browser is accepted at present: %s; try again", why)
	}
	now := k.clock.now()
	s, ok := k.sessions.Find(hex.EncodeToString(own[:]))
	i := slices.IndexFunc(k.tokens.All, func(t clustertree.Token) bool { return t.Hash == s.Token })
	if !ok || now.UnixMilli() >= s.Until || i < 0 || expired(k.tokens.All[i], now) {
		return SignedIn{}, failf(host.Denied, ErrToken, "the session has ended; sign in again")
	}
	t := k.tokens.All[i]
	return SignedIn{Caller{t.Name, Role(t.Role)}, secret, proofOf(secret, s.Token), time.UnixMilli(s.Until)}, nil
}

// AwaitSession waits until this server has read a new session, or ctx ends.
func (k *Keyring) AwaitSession(ctx context.Context, secret string) {
	for {
		k.mu.RLock()
		updated := k.updated
		k.mu.RUnlock()
		if _, err := k.Session(secret); err == nil {
			return
		}
		select {
		case <-updated:
		case <-ctx.Done():
			return
		}
	}
}
