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
	At    time.Time // by the registry's clock, when the key was presented first
	Again bool      // the key was presented before, and nothing was triggered now
}

// TriggerOnce is Trigger for clients that may send a request twice. A key that was
// presented within a day, to whichever server, triggers nothing and returns the first
// result. A key that was presented for another job is refused. Each caller has keys of its
// own, and so has each verb.
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
	return Triggered{time.UnixMilli(use.first.At), use.again && !use.settled()}, nil
}

// once lets a request be carried out only if its key is new.
type once struct {
	verb   verb
	key    clustertree.Key
	ours   clustertree.KeyUsed // what the last try was to write
	unsure bool                // a try had no answer
	first  clustertree.KeyUsed
	again  bool // the key is known already
}

// newOnce is for a request with a key; nil without one.
func newOnce(what verb, key string) (*once, error) {
	if key == "" {
		return nil, nil
	}
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
		return nil, badKey(key)
	}
	return &once{verb: what, key: keyOf(what, key)}, nil
}

// keyOf tells keys of verbs apart. That of a trigger is the one that a release writes which
// does not: a repeat of a trigger is known to both. No client presents a NUL.
func keyOf(what verb, key string) clustertree.Key {
	if what != verbTrigger {
		key = what.command + "\x00" + key
	}
	return clustertree.KeyOf(key)
}

func badKey(key string) error {
	return failf(host.Invalid, nil, "%.80q cannot be an idempotency key: write 1 to %d printable characters of ASCII", key, maxKey)
}

// settled: a try without an answer was applied.
func (u *once) settled() bool { return u.unsure && u.first == u.ours }

// ops is the part of the transaction that remembers the key; none if it is known.
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

// setOrCreate writes a value of the cluster, unless its node has changed since it was n.
func setOrCreate(path string, n registry.Node, data []byte) registry.Op {
	if !n.Exists {
		return registry.Op{Kind: registry.Create, Path: path, Data: data}
	}
	return registry.Op{Kind: registry.Set, Path: path, Data: data, Version: n.Stat.Version}
}

// now is the registry's time, in a dry run this machine's. The root must exist.
func (o *Operator) now(ctx context.Context) (time.Time, error) {
	if o.dry { // ZooKeeper tells its time only to who writes
		return time.Now(), nil
	}
	return timeOf(ctx, o.session, o.tree)
}

// timeOf asks a registry for its time. Where transactions carry it, only the root of the
// cluster has to be writable.
func timeOf(ctx context.Context, s registry.Session, tree clustertree.Tree) (time.Time, error) {
	if s.Timeout() == 0 { // it is inside this server, and not asked to write
		return s.Time(ctx)
	}
	receipt, err := s.Commit(ctx, registry.Op{Kind: registry.Set, Path: tree.Root(), Version: registry.AnyVersion})
	if err == nil && !receipt.At.IsZero() {
		return receipt.At, nil
	}
	return s.Time(ctx)
}
