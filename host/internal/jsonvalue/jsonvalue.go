// Package jsonvalue encodes and decodes our nodes' JSON values. It does not know their
// meaning or the versions of their forms.
package jsonvalue

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Decode decodes a value into v. A value that it cannot decode is not from this release, and
// the error says so.
func Decode(data []byte, v any) error {
	if len(data) == 0 {
		return errors.New("it is empty")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("it is not what this release writes: %w", err)
	}
	return nil
}

// Encode encodes a value made of numbers, strings, lists and objects.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // impossible for such values
		panic(err)
	}
	return b
}
