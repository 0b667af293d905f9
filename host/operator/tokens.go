package operator

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Bounds of the time for which a token is valid.
const (
	minLife = time.Minute
	maxLife = 10 * 366 * 24 * time.Hour
	// expiredKept is how long an expired token stays in the list, and is refused as expired
	// and not as unknown.
	expiredKept = 24 * time.Hour
)

// Token describes a token without its secret, which only its bearer has.
type Token struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Created time.Time `json:"created"`
	By      string    `json:"by,omitempty"`      // who created it
	Until   time.Time `json:"until,omitzero"`    // zero: for ever
	Expired bool      `json:"expired,omitempty"` // by the registry's clock
}

// tokenOf describes a token of the registry.
func tokenOf(t clustertree.Token, now time.Time) Token {
	r := Token{Name: t.Name, Role: Role(t.Role), Created: time.UnixMilli(t.Created), By: t.By, Expired: expired(t, now)}
	if t.Until != 0 {
		r.Until = time.UnixMilli(t.Until)
	}
	return r
}

// expired reports whether a token is not valid any more; one without Until is valid for ever.
func expired(t clustertree.Token, now time.Time) bool {
	return t.Until != 0 && now.UnixMilli() >= t.Until
}

// CreateToken creates a token of this cluster and returns its secret, which cannot be
// read again. A life of 0 is for ever. No valid token may have the name.
func (o *Operator) CreateToken(ctx context.Context, name string, role Role, life time.Duration) (secret string, t Token, err error) {
	const what = "create token"
	if err := clustertree.CheckTokenName(name); err != nil {
		return "", t, failf(host.Invalid, err, what)
	}
	if strings.HasPrefix(name, TokenPrefix) { // it may be a secret, which the audit would show
		return "", t, failf(host.Invalid, nil, "%s: a name cannot begin with %s, as secrets do", what, TokenPrefix)
	}
	if _, err := ParseRole(string(role)); err != nil {
		return "", t, err
	}
	if life != 0 && (life < minLife || life > maxLife) {
		return "", t, failf(host.Invalid, nil, "%s %s: it cannot be valid for %v; write %v to %v, or leave it out", what, name, life, minLife, maxLife)
	}
	secret = newSecret()
	if t, err = o.addToken(ctx, secret, name, role, life); err != nil {
		return "", Token{}, err
	}
	if o.dry {
		secret = "" // the token does not exist
	}
	return secret, t, nil
}

// addToken is CreateToken for a given secret.
func (o *Operator) addToken(ctx context.Context, secret, name string, role Role, life time.Duration) (t Token, err error) {
	const what = "create token"
	sum, err := hashOf(secret)
	if err != nil {
		return t, err
	}
	hash := hex.EncodeToString(sum[:])
	d := deed{verb: "token create", detail: "name=" + name, after: string(role) + ", for ever"}
	err = o.changeTokens(ctx, what+" "+name, &d, func(all *clustertree.Tokens, now time.Time) (bool, error) {
		have, there := all.Find(name)
		switch {
		case there && have.Hash == hash: // a try without an answer was applied
			t = tokenOf(have, now)
			return false, nil
		case there && !expired(have, now):
			return false, failf(host.Refused, nil, "%s %s: there is a token of that name; revoke it first, or choose another name", what, name)
		}
		all.Remove(func(old clustertree.Token) bool { return old.Name == name })
		one := clustertree.Token{Name: name, Role: string(role), Hash: hash, Created: now.UnixMilli(), By: cmp.Or(o.author.Name, "unknown")}
		if life != 0 {
			one.Until = now.Add(life).UnixMilli()
			d.after = string(role) + ", until " + time.UnixMilli(one.Until).UTC().Format(time.RFC3339)
		}
		if !all.Add(one) {
			return false, failf(host.Refused, nil, "%s %s: there are %d tokens, which is the limit; revoke some that nobody uses", what, name, clustertree.MaxTokens)
		}
		t = tokenOf(one, now)
		return true, nil
	})
	return t, err
}

// firstToken is the name of the token of FirstToken.
const firstToken = "first"

// FirstToken creates a token of the role admin in a cluster that has never had a token, and
// reports whether it did. If several servers start together, one creates it. keep receives
// the secret before the registry does: if the server dies in between, the cluster has no
// token whose secret is lost. When created is false, the secret that keep may have received
// is worthless.
func (o *Operator) FirstToken(ctx context.Context, keep func(secret string) error) (created bool, err error) {
	o.As(Author{Name: "serve"}) // no caller has requested it
	if err := o.makeTree(ctx); err != nil {
		return false, err
	}
	_, n, err := readTokens(ctx, o.session, o.tree)
	if err != nil || n.Exists {
		return false, err
	}
	secret := newSecret()
	if err := keep(secret); err != nil {
		return false, err
	}
	_, err = o.addToken(ctx, secret, firstToken, RoleAdmin, 0)
	if e, ok := errors.AsType[*host.Error](err); ok && e.Code == host.Refused {
		return false, nil // another server was faster
	}
	return err == nil, err
}

// RevokeToken ends a token. A second later, no server accepts it.
func (o *Operator) RevokeToken(ctx context.Context, name string) error {
	if err := clustertree.CheckTokenName(name); err != nil {
		return failf(host.NotFound, err, "there is no such token")
	}
	d, sent := deed{verb: "token revoke", detail: "name=" + name}, false
	return o.changeTokens(ctx, "revoke token "+name, &d, func(all *clustertree.Tokens, _ time.Time) (bool, error) {
		have, there := all.Find(name)
		if !there && !sent { // after a try without an answer, that try may have removed it
			return false, failf(host.NotFound, nil, "there is no token %s", name)
		}
		d.before, sent = have.Role, true
		return all.Remove(func(t clustertree.Token) bool { return t.Name == name }), nil
	})
}

// Tokens lists all tokens by name, including those that have expired within a day.
func (o *Operator) Tokens(ctx context.Context) ([]Token, error) {
	const what = "list the tokens"
	all, n, err := readTokens(ctx, o.session, o.tree)
	switch {
	case err != nil:
		return nil, err
	case !n.Exists:
		return nil, nil
	}
	now, err := o.now(ctx)
	if err != nil {
		return nil, readError(err, "%s: ask the registry for its time", what)
	}
	var list []Token
	for _, t := range all.All {
		list = append(list, tokenOf(t, now))
	}
	return list, nil
}

// changeTokens changes the tokens. change reports whether there is something to write.
func (o *Operator) changeTokens(ctx context.Context, what string, d *deed, change func(*clustertree.Tokens, time.Time) (bool, error)) error {
	return o.changeState(ctx, what, d, func(now time.Time) ([]registry.Op, error) {
		all, n, err := readTokens(ctx, o.session, o.tree)
		if err != nil {
			return nil, err
		}
		forget(&all, now)
		if write, err := change(&all, now); err != nil || !write {
			return nil, err
		}
		return []registry.Op{setOrCreate(o.tree.Tokens(), n, all.Encode())}, nil
	})
}

// forget removes tokens that expired long ago, and reports whether there were any.
func forget(all *clustertree.Tokens, now time.Time) bool {
	return all.Remove(func(t clustertree.Token) bool { return expired(t, now.Add(-expiredKept)) })
}

// readTokens reads all tokens of a cluster, and their node.
func readTokens(ctx context.Context, s registry.Requests, tree clustertree.Tree) (clustertree.Tokens, registry.Node, error) {
	n, err := s.Read(ctx, tree.Tokens())
	if err != nil {
		return clustertree.Tokens{}, n, readError(err, "read the tokens")
	}
	all, err := clustertree.DecodeTokens(n.Data)
	if err != nil {
		return clustertree.Tokens{}, n, failf(host.Refused, err, "the tokens at %s cannot be read, and none is accepted: a newer release wrote them, or delete that node and create them anew", tree.Tokens())
	}
	return all, n, nil
}
