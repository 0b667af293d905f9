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

// store loads the state of the item once for all parts of an attempt.
type store struct {
	mu       sync.Mutex // guards what follows
	loaded   bool
	values   map[string][]byte
	err      error
	reported bool // of err
}

func (s *store) load(ctx context.Context, from job.State) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded && from != nil {
		s.values, s.err = from.Load(ctx)
	}
	s.loaded = true
	return s.values, s.err
}

// firstReport answers true once, for the first who wants to tell of the error.
func (s *store) firstReport() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.reported
	s.reported = true
	return !was
}

// values are the state of an item as a guest sees it, with what it has set
// itself. The bytes of a value never change, so maps are copied and they not.
type values struct {
	all  map[string][]byte
	size int             // of all, with their keys
	set  map[string]bool // keys that differ from what is below
}

func newValues(all map[string][]byte) *values {
	v := &values{all: map[string][]byte{}, set: map[string]bool{}}
	maps.Copy(v.all, all)
	for key, value := range all {
		v.size += len(key) + len(value)
	}
	return v
}

func (v *values) dirty() bool { return len(v.set) > 0 }

// put sets a value; false, changing nothing, if there would be too much.
func (v *values) put(key string, value []byte) bool {
	old, known := v.all[key]
	count, size := len(v.all), v.size+len(value)-len(old)
	if !known {
		count, size = count+1, size+len(key)
	}
	// What is there may be more than is allowed by now: it may shrink.
	if (count > maxStateValues || size > maxState) && (!known || size > v.size) {
		return false
	}
	v.all[key], v.size, v.set[key] = value, size, true
	return true
}

// remove takes a value out. A guest's key may be as large as its memory, so it
// is not copied before it is found.
func (v *values) remove(key []byte) bool {
	old, known := v.all[string(key)]
	if known {
		v.size -= len(key) + len(old)
		v.set[string(key)] = true
		delete(v.all, string(key))
	}
	return known
}

var errStateFull = errors.New("the parts of the batch together set more than the state of an item may hold")

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

// values gives the state as this part of the attempt sees it.
func (o *hostState) values(ctx context.Context) (*values, error) {
	if o.state == nil {
		all := o.parentValues()
		if all == nil {
			var err error
			if all, err = o.shared.store.load(ctx, o.call.State); err != nil {
				return nil, err
			}
		}
		o.state = newValues(all)
	}
	return o.state, nil
}

// parentValues is what o was forked from has; nil if none of it has a view of its own.
// Others may look there at the same time, and nobody changes it.
func (o *hostState) parentValues() map[string][]byte {
	for under := o.parent; under != nil; under = under.parent {
		if under.state != nil {
			return under.state.all
		}
	}
	return nil
}

// applyFork puts what a fork has set over what o has. The fork has loaded the store.
func (o *hostState) applyFork(fork *values) {
	if o.state == nil {
		all := o.parentValues()
		if all == nil {
			all = o.shared.store.values
		}
		o.state = newValues(all)
	}
	for key := range fork.set {
		o.state.remove([]byte(key))
		if value, ok := fork.all[key]; ok {
			o.state.all[key] = value
			o.state.size += len(key) + len(value)
		}
		o.state.set[key] = true
	}
}

// loadState is what the functions of the state begin with. The second value is
// an error code, or 0.
func loadState(ctx context.Context, r *run) (*values, int32) {
	if !r.stateHeld && !r.holdMemory(stateBytes) {
		return nil, abi.ErrLimit
	}
	r.stateHeld = true
	if r.state.state == nil { // it may have to be read
		defer r.releaseWorker()()
	}
	v, err := r.state.values(ctx)
	if err == nil {
		return v, 0
	}
	if r.state.shared.store.firstReport() { // the guest may ask a million times
		r.log.logOnce(ctx, slog.LevelWarn, "the state of the item cannot be read", slog.Any("err", err))
	}
	return nil, r.errorCode(err)
}

func stateGet(ctx context.Context, r *run, mem api.Memory, s []uint64) {
	key := guestBytes(mem, u32(s[0]), u32(s[1]))
	guestBytes(mem, u32(s[2]), u32(s[3])) // before the store is asked
	v, code := loadState(ctx, r)
	if code < 0 {
		setResult(s, code)
		return
	}
	value, ok := v.all[string(key)]
	if !ok {
		setResult(s, abi.ErrNotFound)
		return
	}
	setResult(s, writeValue(mem, value, u32(s[2]), u32(s[3])))
}

func stateSet(ctx context.Context, r *run, mem api.Memory, s []uint64) {
	key, value := guestBytes(mem, u32(s[0]), u32(s[1])), guestBytes(mem, u32(s[2]), u32(s[3]))
	limit := orDefault(r.facts.call.Config.Limits.StateValue, DefaultStateValue)
	switch {
	case len(key) == 0 || len(key) > maxStateKey || !utf8.Valid(key):
		setResult(s, abi.ErrInvalid)
		return
	case int64(len(value)) > limit:
		setResult(s, abi.ErrLimit)
		return
	}
	v, code := loadState(ctx, r)
	if code == 0 && !v.put(string(key), append([]byte{}, value...)) {
		code = abi.ErrLimit
	}
	setResult(s, code)
}

func stateDelete(ctx context.Context, r *run, mem api.Memory, s []uint64) {
	key := guestBytes(mem, u32(s[0]), u32(s[1]))
	v, code := loadState(ctx, r)
	if code == 0 && !v.remove(key) {
		code = abi.ErrNotFound
	}
	setResult(s, code)
}
