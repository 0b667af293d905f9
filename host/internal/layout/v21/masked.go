package v21

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// mask stands where a value stood.
const mask = `"***"`

// Masked is the value at a path as strangers may see it: without what guests
// keep, and without the values of a definition that may be secrets or tell of a
// machine's files, as the digests of a base would.
func (j Job) Masked(path string, data []byte) string {
	switch {
	case j.Private(path):
		return fmt.Sprintf("(%d bytes)", len(data))
	case path == j.at(nodeConfig), path == j.at(nodeModule):
		text, err := hideValues(data, private)
		if err != nil && path == j.at(nodeModule) {
			return fmt.Sprintf("(%d bytes that cannot be read)", len(data))
		}
		return string(text)
	}
	return filePath.ReplaceAllString(string(data), "${1}***") // of an error
}

// filePath finds an absolute path within a text; that of a URL is none.
var filePath = regexp.MustCompile(`(^|[\s"'(=:,])/[\pL._~-][^\s\\"'():,]*`)

// private tells whether a key of config or of the module's node, under the keys
// above it, has such a value.
func private(keys []string) bool {
	if len(keys) > 0 && keys[0] == "base" {
		keys = keys[1:]
	}
	if len(keys) == 0 {
		return false
	}
	switch keys[0] {
	case "config", "args", "scriptCommandLine":
		return true
	case "allow":
		return len(keys) > 1 && (keys[1] == "env" || keys[1] == "dirs" && (len(keys) == 2 || keys[2] == "host"))
	}
	return keys[len(keys)-1] == "reference"
}

// hideValues puts the mask in the place of each value for whose keys hide says
// so. All else stays as it is, to the byte. If it is no JSON, it is not changed.
func hideValues(data []byte, hide func(keys []string) bool) ([]byte, error) {
	h := &hider{data: data, hide: hide, from: json.NewDecoder(bytes.NewReader(data))}
	if err := h.value(nil); err != nil {
		return data, err
	}
	return append(h.out, data[h.done:]...), nil
}

type hider struct {
	data, out []byte
	done      int // so much of data is in out
	hide      func([]string) bool
	from      *json.Decoder
}

// value passes over one value, with all that is in it.
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
		begin += len(h.data[begin:]) - len(bytes.TrimLeft(h.data[begin:], ":, \t\r\n"))
		h.out = append(append(h.out, h.data[h.done:begin]...), mask...)
		h.done = int(h.from.InputOffset())
	}
	return nil
}

// inside passes over an object or a list, of which the first token was read.
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
