package jsonvalue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// hidden replaces a value.
const hidden = `"***"`

// Mask replaces by "***" each value that is no object and no list, and for whose keys, the
// outermost first, hide returns true. Everything else stays the same, byte by byte. Data that
// is not JSON is returned as it is, with an error.
func Mask(data []byte, hide func(keys []string) bool) ([]byte, error) {
	h := &hider{data: data, hide: hide, from: json.NewDecoder(bytes.NewReader(data))}
	if err := h.value(nil); err != nil {
		return data, err
	}
	return append(h.out, data[h.done:]...), nil
}

// hider copies data to out while it replaces values.
type hider struct {
	data, out []byte
	done      int // number of bytes of data that are in out
	hide      func([]string) bool
	from      *json.Decoder // reads data
}

// value reads one value with everything in it. keys lead to it.
func (h *hider) value(keys []string) error {
	begin := int(h.from.InputOffset())
	t, err := h.from.Token()
	if err != nil {
		return fmt.Errorf("read a value: %w", err)
	}
	if open, ok := t.(json.Delim); ok {
		return h.inside(open, keys)
	}
	if h.hide(keys) {
		// The offset was that of the end of the token before, so a colon, a comma and blanks follow.
		begin += len(h.data[begin:]) - len(bytes.TrimLeft(h.data[begin:], ":, \t\r\n"))
		h.out = append(append(h.out, h.data[h.done:begin]...), hidden...)
		h.done = int(h.from.InputOffset())
	}
	return nil
}

// inside reads the rest of an object or a list, whose first token is open. keys lead to it.
func (h *hider) inside(open json.Delim, keys []string) error {
	for h.from.More() {
		below := keys
		if open == '{' {
			key, err := h.from.Token()
			if err != nil {
				return fmt.Errorf("read a key: %w", err)
			}
			below = append(slices.Clip(keys), fmt.Sprint(key))
		}
		if err := h.value(below); err != nil {
			return err
		}
	}
	if _, err := h.from.Token(); err != nil {
		return fmt.Errorf("read the end of a value: %w", err)
	}
	return nil
}
