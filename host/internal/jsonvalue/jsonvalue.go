// Package jsonvalue writes and reads values of ours that are JSON in a node. What they
// mean, and which version of a form is known, is not its business.
package jsonvalue

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Decode reads a value into v. What cannot be read was written by something else than
// this release, and the error says so.
func Decode(data []byte, v any) error {
	if len(data) == 0 {
		return errors.New("it is empty")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("it is not what this release writes: %w", err)
	}
	return nil
}

// Encode writes a value made of numbers, texts, and lists and objects of them.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // never for those
		panic(err)
	}
	return b
}
