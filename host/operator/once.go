package operator

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// maxKey bounds the idempotency key of a client.
const maxKey = 255

// Triggered is the result of TriggerOnce.
type Triggered struct {
	At    time.Time // of the first request with the key, by the registry's clock
	Again bool      // the key was used before, and nothing was triggered now
}

// TriggerOnce is Trigger for clients that may send a request twice. A key that was used
// within a day, on any server, triggers nothing and returns the first result. A key that
// was used for another job is refused. Keys of different callers or verbs do not collide.
func (o *Operator) TriggerOnce(ctx context.Context, name, key string) (Triggered, error) {
	use, err := newOnce(verbTrigger, key)
	switch {
	case err != nil:
		return Triggered{}, err
	case use == nil:
		return Triggered{}, badKey(key)
	}
	wish := func(*protocol.View) (protocol.Ask, deed, error) { return protocol.AskTrigger{}, deed{}, nil }
	if err := o.askBy(ctx, request{verb: verbTrigger, job: name, once: use, wish: wish}); err != nil {
		return Triggered{}, err
	}
	return Triggered{time.UnixMilli(use.first.At), use.repeated()}, nil
}

// once makes a request take effect only if its key is new.
type once struct {
	verb   verb
	key    clustertree.Key
	ours   clustertree.KeyUsed // what the last try wrote, if it was applied
	unsure bool                // a try had no answer
	first  clustertree.KeyUsed // the first use of the key, which may be ours
	again  bool                // the key was used before this try, perhaps by an earlier try
}

// newOnce returns a once for a key; nil if the key is empty.
func newOnce(what verb, key string) (*once, error) {
	if key == "" {
		return nil, nil
	}
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
		return nil, badKey(key)
	}
	return &once{verb: what, key: keyOf(what, key)}, nil
}

// keyOf makes the keys of different verbs distinct. The key of a trigger has no prefix, as in
// older releases, so that these and this release know a repeated trigger of each other. Clients
// cannot send the NUL of the prefix.
func keyOf(what verb, key string) clustertree.Key {
	if what != verbTrigger {
		key = what.command + "\x00" + key
	}
	return clustertree.KeyOf(key)
}

// badKey is the error of a text that cannot be an idempotency key.
func badKey(key string) error {
	return failf(host.Invalid, nil, "%.80q cannot be an idempotency key: write 1 to %d printable characters of ASCII", key, maxKey)
}

// settled reports whether a try without an answer was applied: the first use of the key is then what that
// try wrote.
func (u *once) settled() bool { return u.unsure && u.first == u.ours }

// repeated reports whether an earlier request has used the key, and not only an earlier try of this one.
func (u *once) repeated() bool { return u.again && !u.settled() }

// ops is the part of the transaction that stores the key; empty if the key is stored already. It sets first
// and again.
func (u *once) ops(ctx context.Context, o *Operator, name string) ([]registry.Op, error) {
	what := u.verb.words
	if err := o.makeTree(ctx); err != nil {
		return nil, err
	}
	now, err := o.now(ctx)
	if err != nil {
		return nil, readError(err, "%s job %s: ask the registry for its time", what, name)
	}
	path := o.tree.Keys(u.key)
	n, err := o.session.Read(ctx, path)
	if err != nil {
		return nil, readError(err, "%s job %s: look for its key", what, name)
	}
	keys, err := clustertree.DecodeKeys(n.Data)
	if err != nil {
		return nil, failf(host.Refused, err, "%s job %s: the keys at %s cannot be read; delete that node, or use no key", what, name, path)
	}
	use := clustertree.KeyUsed{Key: u.key, Job: name, At: now.UnixMilli(), By: clustertree.CallerOf(o.author.Name)}
	first, again, room := keys.Use(use)
	switch {
	case again && !first.For(name):
		return nil, failf(host.Refused, nil, "%s job %s: its idempotency key was used for another job; use a new one", what, name)
	case !room:
		return nil, failf(host.Refused, nil, "%s job %s: you used too many idempotency keys today, or all callers did; try another key, or none", what, name)
	}
	u.first, u.again = first, again
	if again {
		return nil, nil
	}
	u.ours = first
	return []registry.Op{setOrCreate(path, n, keys.Encode())}, nil
}

// setOrCreate writes a node of the cluster's state, unless it has changed since n was read.
func setOrCreate(path string, n registry.Node, data []byte) registry.Op {
	if !n.Exists {
		return registry.Op{Kind: registry.Create, Path: path, Data: data}
	}
	return registry.Op{Kind: registry.Set, Path: path, Data: data, Version: n.Stat.Version}
}

// now is the registry's time, in a dry run this machine's. The root must exist.
func (o *Operator) now(ctx context.Context) (time.Time, error) {
	if o.dry { // ZooKeeper shows its time only in writes
		return time.Now(), nil
	}
	return timeOf(ctx, o.session, o.tree)
}

// timeOf asks a registry for its time. It first sets the root of the cluster's state, since the receipt of a write
// may carry the time. So this user of the registry needs no right to write elsewhere.
func timeOf(ctx context.Context, s registry.Session, tree clustertree.Tree) (time.Time, error) {
	if s.Timeout() == 0 { // the registry inside this server needs no write for that
		return s.Time(ctx)
	}
	receipt, err := s.Commit(ctx, registry.Op{Kind: registry.Set, Path: tree.Root(), Version: registry.AnyVersion})
	if err == nil && !receipt.At.IsZero() {
		return receipt.At, nil
	}
	return s.Time(ctx)
}
