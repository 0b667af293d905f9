package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// itemState is the state of an item outside of any server: in memory and, if named, in a file.
type itemState struct {
	file        string
	readOnly    bool // do not write the file
	before, now map[string][]byte
}

// stateValue is a value as JSON: a string if it is text, otherwise an object with its base64.
type stateValue []byte

// MarshalJSON implements json.Marshaler.
func (v stateValue) MarshalJSON() ([]byte, error) {
	var is any = binaryValue{v}
	if utf8.Valid(v) {
		is = string(v)
	}
	b, err := json.Marshal(is)
	if err != nil {
		return nil, fmt.Errorf("encode a value: %w", err)
	}
	return b, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *stateValue) UnmarshalJSON(b []byte) error {
	var text *string // nil: null, which is no value, and would be read as an empty one
	if json.Unmarshal(b, &text) == nil && text != nil {
		*v = stateValue(*text)
		return nil
	}
	var binary binaryValue
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(&binary)
	if err == nil && binary.Base64 == nil {
		err = fmt.Errorf("not %.40s", b)
	}
	if err != nil {
		return fmt.Errorf(`a value is a string or {"base64": "..."}: %w`, err)
	}
	*v = binary.Base64
	return nil
}

type binaryValue struct {
	Base64 []byte `json:"base64"`
}

// open reads the file. A missing file stands for an item without values.
func (s *itemState) open() error {
	values := map[string]stateValue{}
	if s.file != "" {
		b, err := os.ReadFile(s.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exitf(exitNotFound, "state of the item: %w", err)
		}
		if err == nil {
			err = json.Unmarshal(b, &values)
		}
		if err == nil && values == nil {
			err = errors.New("it is null, not an object with values")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exitf(exitInvalid, "state of the item: %s: %w", s.file, err)
		}
	}
	s.before = map[string][]byte{}
	for key, v := range values {
		s.before[key] = v
	}
	s.now = maps.Clone(s.before)
	return nil
}

// Load implements job.State.
func (s *itemState) Load(context.Context) (map[string][]byte, error) { return maps.Clone(s.now), nil }

// Save implements job.State. It replaces the file atomically.
func (s *itemState) Save(_ context.Context, values map[string][]byte) error {
	if s.file != "" && !s.readOnly {
		texts := map[string]stateValue{}
		for key, v := range values {
			texts[key] = v
		}
		b, err := json.MarshalIndent(texts, "", "  ")
		if err != nil {
			return fmt.Errorf("encode the state: %w", err)
		}
		if err := replaceFile(s.file, append(visibleJSON(b), '\n')); err != nil {
			return fmt.Errorf("keep the state: %w", err)
		}
	}
	s.now = maps.Clone(values)
	return nil
}

// replaceFile writes a file beside path, and renames it to path: whoever reads path sees the old content or
// the new one, never a part.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // report the first error
	}
	return err
}

// stateChange is a value that changed; nil: it did not, or does not, exist.
type stateChange struct {
	Key    string      `json:"key"`
	Before *stateValue `json:"before"`
	After  *stateValue `json:"after"`
}

// changes returns the values that the run has added, changed or deleted, by key.
func (s *itemState) changes() []stateChange {
	keys := maps.Clone(s.before)
	maps.Copy(keys, s.now)
	var changes []stateChange
	value := func(all map[string][]byte, key string) *stateValue {
		if v, ok := all[key]; ok {
			return (*stateValue)(&v)
		}
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		before, there := s.before[key]
		after, stays := s.now[key]
		if there != stays || !bytes.Equal(before, after) {
			changes = append(changes, stateChange{key, value(s.before, key), value(s.now, key)})
		}
	}
	return changes
}
