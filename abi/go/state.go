package wasmjob

import "strconv"

// State holds values that belong to the item and outlive the run, wherever the item runs
// next. The job must be granted it; otherwise all methods fail with ErrDenied. Changes
// are kept if the run succeeds or, in a dataflow job, if the batch does.
type State struct{ h host }

// State returns the state of the item.
func (c Context) State() State { return State(c) }

// Get returns a value; ErrNotFound if there is none.
func (s State) Get(key string) ([]byte, error) {
	b, n := read(func(buf []byte) int32 { return s.h.stateGet(key, buf) })
	return b, check(n, "read state", key)
}

// Set sets a value. It fails with ErrInvalid for a key that is empty, longer than 256
// bytes or not UTF-8, and with ErrLimit beyond the host's limits.
func (s State) Set(key string, value []byte) error {
	return check(s.h.stateSet(key, value), "set state", key)
}

// Delete removes a value; ErrNotFound if there was none.
func (s State) Delete(key string) error {
	return check(s.h.stateDelete(key), "delete state", key)
}

// Int returns a number set by SetInt, such as an offset; 0 if there is none.
func (s State) Int(key string) (int64, error) {
	b, n := read(func(buf []byte) int32 { return s.h.stateGet(key, buf) })
	if n == int32(ErrNotFound) {
		return 0, nil
	}
	if err := check(n, "read state", key); err != nil {
		return 0, err
	}
	i, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0, &attempt{"read state " + key + " as a number", ErrInvalid}
	}
	return i, nil
}

// SetInt sets a number, in decimal.
func (s State) SetInt(key string, n int64) error {
	return s.Set(key, strconv.AppendInt(nil, n, 10))
}
