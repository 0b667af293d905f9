package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// ErrMoved says that the state was not saved: the item has another owner by now, or its
// state was changed.
var ErrMoved = errors.New("the item has passed to another member, or its state was changed by another program; nothing was saved")

// itemState reads and writes the state of one item in the registry, for one run. It uses
// the job session in which the run began: if its member has ended, a late save finds the
// session ended, or the member's record gone. A run uses it from one goroutine.
type itemState struct {
	layout  layout.Layout
	session registry.Requests
	self    job.InstanceID
	item    int

	known  bool          // node and offset were read or written
	node   registry.Node // as last read or written
	offset registry.Node // in layout 1, a second node with one key of the state
}

// newItemState returns the state of an item for a run of this member.
func newItemState(m *member, item int) *itemState {
	return &itemState{layout: m.Layout, session: m.session, self: m.loop.State().Self(), item: item}
}

// Load implements job.State. It needs no sync: the begin of the run was written in the
// same session, after all saves by other members.
func (s *itemState) Load(ctx context.Context) (map[string][]byte, error) {
	if err := s.read(ctx); err != nil {
		return nil, fmt.Errorf("load the state of item %d: %w", s.item, err)
	}
	values, err := spelling.DecodeState(s.node)
	if err != nil {
		return nil, err
	}
	spelling.PutOffset(values, s.node, s.offset)
	return values, nil
}

// Save implements job.State.
func (s *itemState) Save(ctx context.Context, values map[string][]byte) error {
	err := s.save(ctx, values)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, registry.ErrEnded):
		err = fmt.Errorf("%w: %w", ErrMoved, err)
	}
	return fmt.Errorf("save the state of item %d: %w", s.item, err)
}

// save replaces the state of the item. It returns ErrMoved if the member's record is gone or
// another run has saved since.
func (s *itemState) save(ctx context.Context, values map[string][]byte) error {
	data, err := spelling.EncodeState(values)
	if err != nil {
		return err
	}
	if !s.known { // the run saves without having loaded
		if err := s.read(ctx); err != nil {
			return err
		}
	}
	offset := s.layout.SaveOffset(s.item, s.offset, values[spelling.KeyOffset])
	if err := session.CreateMissing(ctx, s.session, s.missing(len(offset) > 0)); err != nil {
		return err
	}
	_, err = s.session.Commit(ctx, append(s.layout.SaveState(s.self, s.item, s.node, data), offset...)...)
	switch {
	case err == nil:
		s.recordSave(data, offset)
		return nil
	case errors.Is(err, registry.ErrUnknown):
		return s.settleSave(ctx, data)
	case errors.Is(err, registry.ErrConflict):
		return fmt.Errorf("%w: %w", ErrMoved, err)
	}
	return err
}

// missing returns the parents, shared with other items, of the nodes that a save has to
// create. offset says whether the save writes the second node of layout 1.
func (s *itemState) missing(offset bool) (all []string) {
	if !s.node.Exists {
		all, _ = s.layout.StateOf(s.item)
	}
	if offset && !s.offset.Exists {
		above, _ := s.layout.OffsetOf(s.item)
		all = append(all, above)
	}
	return all
}

// read reads the nodes of the state. Only layout 1 has a path for offset.
func (s *itemState) read(ctx context.Context) error {
	_, path := s.layout.StateOf(s.item)
	n, err := s.session.Read(ctx, path)
	if err != nil {
		return err
	}
	if _, path = s.layout.OffsetOf(s.item); path != "" {
		if s.offset, err = s.session.Read(ctx, path); err != nil {
			return err
		}
	}
	s.known, s.node = true, n
	return nil
}

// recordSave updates the nodes to what a save has written, so that the run can save again
// without a read.
func (s *itemState) recordSave(data []byte, offset []registry.Op) {
	if s.node.Exists {
		s.node.Stat.Version++
	}
	s.node.Exists, s.node.Data = true, data
	for _, op := range offset {
		s.offset.Exists, s.offset.Data = true, op.Data
	}
}

// settleSave finds out whether a save without an answer was applied: after a sync, the node
// has the version and the data that the save would have given it. It returns nil then.
func (s *itemState) settleSave(ctx context.Context, data []byte) error {
	want := int32(0)
	if s.node.Exists {
		want = s.node.Stat.Version + 1
	}
	if err := s.session.Sync(ctx); err != nil {
		return fmt.Errorf("whether it was written is not known: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return fmt.Errorf("whether it was written is not known: %w", err)
	}
	if s.node.Exists && s.node.Stat.Version == want && bytes.Equal(s.node.Data, data) {
		return nil
	}
	return errors.New("the registry did not take it")
}
