package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// store loads the state of the item once for all subtasks of an attempt.
type store struct {
	mu       sync.Mutex // guards the fields below
	loaded   bool
	values   map[string][]byte
	err      error
	reported bool // err was logged
}

// load returns the state of the item, which it loads on the first call only. Without a
// State there are no values.
func (s *store) load(ctx context.Context, from job.State) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded && from != nil {
		s.values, s.err = from.Load(ctx)
	}
	s.loaded = true
	return s.values, s.err
}

// firstReport returns true on the first call only, for logging the error once.
func (s *store) firstReport() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.reported
	s.reported = true
	return !was
}

// values is the state of an item as a guest sees it, with its own changes. The bytes
// of a value never change, so maps are copied and values are not.
type values struct {
	all  map[string][]byte
	size int             // bytes of all values and keys
	set  map[string]bool // keys that differ from the parent's
}

// newValues returns the values of all, with no changes yet.
func newValues(all map[string][]byte) *values {
	v := &values{all: map[string][]byte{}, set: map[string]bool{}}
	maps.Copy(v.all, all)
	for key, value := range all {
		v.size += len(key) + len(value)
	}
	return v
}

func (v *values) dirty() bool { return len(v.set) > 0 }

// put sets a value. It returns false and changes nothing if a limit would be
// exceeded.
func (v *values) put(key string, value []byte) bool {
	old, known := v.all[key]
	count, size := len(v.all), v.size+len(value)-len(old)
	if !known {
		count, size = count+1, size+len(key)
	}
	// The stored state may exceed the limit from the begin, whatever wrote it; then it may
	// only shrink.
	if (count > maxStateValues || size > maxState) && (!known || size > v.size) {
		return false
	}
	v.all[key], v.size, v.set[key] = value, size, true
	return true
}

// remove removes a value, and reports whether there was one. The key may be as large as
// the guest's memory, so it is not copied before it is found.
func (v *values) remove(key []byte) bool {
	old, known := v.all[string(key)]
	if known {
		v.size -= len(key) + len(old)
		v.set[string(key)] = true
		delete(v.all, string(key))
	}
	return known
}

// stateLimits is the cause of a refused value.
var stateLimits = fmt.Sprintf("an item has at most %d values, and with their keys %d bytes", maxStateValues, maxState)

var errStateFull = errors.New("the subtasks of the batch together exceed the limit of an item's state")

// save writes all values if the guest may have so many. Each subtask keeps within the
// limit, but their changes together may not.
func (v *values) save(ctx context.Context, to job.State) error {
	if len(v.all) > maxStateValues || v.size > maxState {
		return errStateFull
	}
	if to != nil {
		if err := to.Save(ctx, maps.Clone(v.all)); err != nil {
			return fmt.Errorf("keep the values: %w", err)
		}
	}
	clear(v.set)
	return nil
}

// values returns the state as this part of the attempt sees it.
func (h *hostState) values(ctx context.Context) (*values, error) {
	if h.itemState == nil {
		all := h.parentValues()
		if all == nil {
			var err error
			if all, err = h.shared.store.load(ctx, h.call.State); err != nil {
				return nil, err
			}
		}
		h.itemState = newValues(all)
	}
	return h.itemState, nil
}

// parentValues returns the values of the nearest parent that has some, or nil. Other
// subtasks may read them concurrently; none changes them.
func (h *hostState) parentValues() map[string][]byte {
	for under := h.parent; under != nil; under = under.parent {
		if under.itemState != nil {
			return under.itemState.all
		}
	}
	return nil
}

// applyFork applies the changes of a fork, even if they exceed the limits: save checks
// them. The fork has loaded the store.
func (h *hostState) applyFork(fork *values) {
	if h.itemState == nil {
		all := h.parentValues()
		if all == nil {
			all = h.shared.store.values
		}
		h.itemState = newValues(all)
	}
	for key := range fork.set {
		h.itemState.remove([]byte(key))
		if value, ok := fork.all[key]; ok {
			h.itemState.all[key] = value
			h.itemState.size += len(key) + len(value)
		}
		h.itemState.set[key] = true
	}
}

// loadState returns the state for a state function. The second result is an error
// code, or 0.
func loadState(ctx context.Context, r *run) (*values, int32) {
	if !r.stateHeld && !r.holdMemory(stateBytes) {
		return nil, abi.ErrLimit
	}
	r.stateHeld = true
	if r.hostState.itemState == nil { // it may have to be loaded
		defer r.releaseWorker()()
	}
	v, err := r.hostState.values(ctx)
	if err == nil {
		return v, 0
	}
	if r.hostState.shared.store.firstReport() { // the guest may repeat the call
		r.log.logOnce(ctx, slog.LevelWarn, "cannot read the state of the item", slog.Any("err", err))
	}
	return nil, r.errorCode(err)
}

// stateGet implements the guest's state_get(key, klen, buf, cap): it writes a value of the
// item's state.
func stateGet(ctx context.Context, r *run, mem api.Memory, s []uint64) int32 {
	key := guestBytes(mem, u32(s[0]), u32(s[1]))
	checkBuffer(mem, u32(s[2]), u32(s[3]))
	v, code := loadState(ctx, r)
	if code < 0 {
		return code
	}
	value, ok := v.all[string(key)]
	if !ok {
		return abi.ErrNotFound
	}
	return writeValue(mem, value, u32(s[2]), u32(s[3]))
}

// stateSet implements the guest's state_set(key, klen, val, vlen). The value is copied,
// because the guest may change its memory.
func stateSet(ctx context.Context, r *run, mem api.Memory, s []uint64) int32 {
	key, value := guestBytes(mem, u32(s[0]), u32(s[1])), guestBytes(mem, u32(s[2]), u32(s[3]))
	limit := orDefault(r.facts.call.Config.Limits.StateValue, DefaultStateValue)
	switch {
	case len(key) == 0 || len(key) > maxStateKey || !utf8.Valid(key):
		r.cause = refusalCause{text: "a key is text of 1 to %d bytes", limit: maxStateKey}
		return abi.ErrInvalid
	case int64(len(value)) > limit:
		return r.exceeds("limits.state_value is %d bytes", limit)
	}
	v, code := loadState(ctx, r)
	if code == 0 && !v.put(string(key), append([]byte{}, value...)) {
		code = r.exceeds(stateLimits, 0)
	}
	return code
}

// stateDelete implements the guest's state_delete(key, klen).
func stateDelete(ctx context.Context, r *run, mem api.Memory, s []uint64) int32 {
	key := guestBytes(mem, u32(s[0]), u32(s[1]))
	v, code := loadState(ctx, r)
	if code == 0 && !v.remove(key) {
		code = abi.ErrNotFound
	}
	return code
}
