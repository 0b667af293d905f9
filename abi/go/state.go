package wasmjob

import "strconv"

// State are values that belong to the item and outlive the run, wherever the
// item runs next. The job must be granted it, else all methods fail with
// ErrDenied. What is set is kept when the run succeeds; for a dataflow job,
// when the batch does.
type State struct{ h host }

// State gives access to what the item keeps from run to run.
func (c Context) State() State { return State(c) }

// Get is the value; ErrNotFound if there is none.
func (s State) Get(key string) ([]byte, error) {
	b, n := read(func(buf []byte) int32 { return s.h.stateGet(key, buf) })
	return b, check(n, "read state", key)
}

// Set keeps a value. It fails with ErrInvalid for a key that is empty, longer
// than 256 bytes or not UTF-8, and with ErrLimit for more than the host keeps.
func (s State) Set(key string, value []byte) error {
	return check(s.h.stateSet(key, value), "set state", key)
}

// Delete removes a value; ErrNotFound if there was none.
func (s State) Delete(key string) error {
	return check(s.h.stateDelete(key), "delete state", key)
}

// Int is a value that SetInt has set, such as an offset; 0 if there is none.
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

// SetInt keeps a number, in decimal.
func (s State) SetInt(key string, n int64) error {
	return s.Set(key, strconv.AppendInt(nil, n, 10))
}
