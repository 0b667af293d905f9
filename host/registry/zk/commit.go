package zk

import (
	"context"
	"errors"
	"fmt"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Sizes of the parts of an encoded transaction, besides its paths and data.
const (
	frameBytes  = 8 + 9     // number and opcode before the ops, the end mark after them
	pathBytes   = 9 + 4     // of any request: its header, and the length of the path
	versionSize = 4         // of set, delete and check
	dataSize    = 4         // the length in front of data
	createBytes = 4 + 4 + 4 // lengths of data and ACL, and the kind
	aclBytes    = 4 + 4 + 4 // permissions and the lengths of scheme and id
)

// transaction is ops in the form of the service.
type transaction struct {
	requests []any
	of       []int // index of the op that each request belongs to
	size     int
}

// Commit implements registry.Session. A refused transaction costs a round trip like any other;
// one that is too large is not sent.
func (s *session) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return registry.Receipt{}, fmt.Errorf("commit: %w", err)
	}
	if s.isOver() {
		return registry.Receipt{}, registry.ErrEnded
	}
	if s.registry.options.ReadOnly {
		return registry.Receipt{}, registry.ErrReadOnly
	}
	if i := badPath(ops); i >= 0 {
		return registry.Receipt{}, &registry.ConflictError{Index: i, Op: ops[i], Reason: registry.BadPath}
	}
	var instead map[int]string
	for {
		t, err := s.encode(ops, instead)
		if err != nil {
			return registry.Receipt{}, err
		}
		receipt, err := s.commit(ctx, ops, t)
		var conflict *registry.ConflictError
		if !errors.As(err, &conflict) || conflict.Op.Kind != registry.Absent {
			return receipt, err
		}
		// A node without a parent is absent as well. To check that in the same transaction, the
		// parent's absence stands in for the node's, unless the parent is created meanwhile.
		i := conflict.Index
		at, replaced := instead[i]
		switch {
		case conflict.Reason == registry.NoParent:
			if !replaced {
				at = s.full(ops[i].Path)
			}
			if instead == nil {
				instead = make(map[int]string)
			}
			instead[i] = parentOf(at)
		case conflict.Reason == registry.NodeExists && replaced:
			delete(instead, i)
		default:
			return receipt, err
		}
	}
}

// encode encodes the transaction. instead has, by the index of an Absent op, the path that
// replaces its own. ZooKeeper cannot check that a node is absent, so a create and a delete stand
// for that. Data is copied, because the library may send it after Commit has returned.
func (s *session) encode(ops []registry.Op, instead map[int]string) (transaction, error) {
	acl := s.registry.acl
	t := transaction{size: frameBytes}
	for i := range ops {
		op := &ops[i]
		path := s.full(op.Path)
		// Checked first, so that data that is far too large is not copied.
		if most := s.registry.options.MaxRequest; t.size+len(path)+len(op.Data) > most {
			return transaction{}, s.tooLarge(i, ops)
		}
		switch op.Kind {
		case registry.Create, registry.CreateEphemeral, registry.CreateSequential, registry.CreateEphemeralSequential:
			t.create(i, path, op.Data, flags(op.Kind), acl)
		case registry.Set:
			t.add(i, &client.SetDataRequest{Path: path, Data: owned(op.Data), Version: op.Version}, len(path)+dataSize+len(op.Data)+versionSize)
		case registry.Delete:
			t.add(i, &client.DeleteRequest{Path: path, Version: op.Version}, len(path)+versionSize)
		case registry.Check:
			t.add(i, &client.CheckVersionRequest{Path: path, Version: op.Version}, len(path)+versionSize)
		case registry.Absent:
			if at, ok := instead[i]; ok {
				path = at
			}
			t.create(i, path, nil, 0, acl)
			t.add(i, &client.DeleteRequest{Path: path, Version: registry.AnyVersion}, len(path)+versionSize)
		default:
			return transaction{}, fmt.Errorf("commit: op %d has the unknown kind %d", i, op.Kind)
		}
	}
	if t.size > s.registry.options.MaxRequest {
		return transaction{}, s.tooLarge(len(ops)-1, ops)
	}
	return t, nil
}

// tooLarge returns the error of a transaction that exceeds the bound with the op of that index.
func (s *session) tooLarge(op int, ops []registry.Op) error {
	return fmt.Errorf("%w: more than %d bytes with op %d of %d", registry.ErrTooLarge, s.registry.options.MaxRequest, op+1, len(ops))
}

// add adds a request for the op of that index. size is that of its body.
func (t *transaction) add(op int, request any, size int) {
	t.requests = append(t.requests, request)
	t.of = append(t.of, op)
	t.size += pathBytes + size
}

// create adds the creation of a node for the op of that index.
func (t *transaction) create(op int, path string, data []byte, flags int32, acl []client.ACL) {
	size := len(path) + len(data) + createBytes
	for _, a := range acl {
		size += aclBytes + len(a.Scheme) + len(a.ID)
	}
	t.add(op, &client.CreateRequest{Path: path, Data: owned(data), Acl: acl, Flags: flags}, size)
}

// flags returns the flags of ZooKeeper for a kind of create.
func flags(k registry.OpKind) int32 {
	switch k { //nolint:exhaustive // create has no other kinds
	case registry.CreateEphemeral:
		return client.FlagEphemeral
	case registry.CreateSequential:
		return client.FlagSequence
	case registry.CreateEphemeralSequential:
		return client.FlagEphemeral | client.FlagSequence
	}
	return 0
}

// owned copies data. The result is never nil, since the service would store null, which Java
// programs do not expect.
func owned(data []byte) []byte { return append([]byte{}, data...) }

// commit sends a transaction, and returns its receipt or why it was refused. A refusal counts as
// acknowledged like a success.
func (s *session) commit(ctx context.Context, ops []registry.Op, t transaction) (registry.Receipt, error) {
	if len(ops) == 0 {
		return registry.Receipt{}, nil
	}
	// call may wait before it sends, so the time is taken again there.
	sent := time.Now()
	answers, err := call(ctx, s, func() ([]client.MultiResponse, error) {
		sent = time.Now()
		return s.conn.Multi(t.requests...)
	})
	if errors.Is(err, errLate) {
		return registry.Receipt{}, fmt.Errorf("%w: %w", registry.ErrUnknown, err)
	}
	if err == nil && len(answers) == len(t.requests) {
		s.acknowledge(sent)
		return s.receipt(ops, t, answers), nil
	}
	for i, a := range answers {
		// Only the first error is a cause; the following ones say that the request was not
		// tried.
		if a.Error != nil && i < len(t.of) {
			s.acknowledge(sent)
			return registry.Receipt{}, s.refusal(ops, t, i, a.Error)
		}
	}
	return registry.Receipt{}, s.commitError(err)
}

// receipt returns the receipt of a transaction from the answers to its requests.
func (s *session) receipt(ops []registry.Op, t transaction, answers []client.MultiResponse) registry.Receipt {
	r := registry.Receipt{Results: make([]registry.Result, len(ops))}
	for i := range ops {
		r.Results[i].Path = ops[i].Path
	}
	for i, a := range answers {
		result := &r.Results[t.of[i]]
		switch ops[t.of[i]].Kind { //nolint:exhaustive // the other results are empty
		case registry.CreateSequential, registry.CreateEphemeralSequential:
			result.Path = s.own(a.String)
		case registry.Set:
			result.Version, r.Revision = a.Stat.Version, a.Stat.Mzxid
			r.At = time.UnixMilli(a.Stat.Mtime)
		}
	}
	return r
}

// refusal returns the error of a transaction that was refused because of request i. It is a
// ConflictError only if the tree is the cause.
func (s *session) refusal(ops []registry.Op, t transaction, i int, cause error) error {
	op := ops[t.of[i]]
	_, create := t.requests[i].(*client.CreateRequest)
	if reason := reasonOf(cause, create); reason != 0 {
		return &registry.ConflictError{Index: t.of[i], Op: op, Reason: reason}
	}
	switch {
	case errors.Is(cause, client.ErrSessionExpired):
		s.end(true)
		return registry.ErrEnded
	case errors.Is(cause, client.ErrNoAuth):
		return fmt.Errorf("commit: op %d on %s: %w", t.of[i], op.Path, registry.ErrDenied)
	}
	return fmt.Errorf("commit: op %d on %s: %w", t.of[i], op.Path, cause)
}

// commitError returns the error of a transaction whose answer says nothing of a single request.
// The outcome is unknown unless the transaction was not sent, or the service has surely refused
// it.
func (s *session) commitError(err error) error {
	switch {
	case errors.Is(err, client.ErrSessionExpired):
		s.end(true)
		return registry.ErrEnded
	case errors.Is(err, errNotSent) && s.isOver():
		return registry.ErrEnded
	case errors.Is(err, errNotSent), errors.Is(err, client.ErrSessionMoved):
		return fmt.Errorf("commit: %w", err)
	case err == nil:
		return fmt.Errorf("%w: the answer cannot be understood", registry.ErrUnknown)
	}
	// After any other error, the service may have the transaction.
	return fmt.Errorf("%w: %w", registry.ErrUnknown, err)
}
