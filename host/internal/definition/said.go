package definition

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
)

// A server remembers what its own file said of a job when it was applied last.
// By that it knows whether the file was changed since. The registry's base
// cannot tell: another server's file may have been applied in between.

// Recall gives a file's definition what Merged.Said made of the one before. What
// cannot be read is as nothing: then Merge goes by the registry alone.
func (d *Definition) Recall(said []byte) error {
	var s map[string]string
	if len(said) > MaxModule {
		return fmt.Errorf("%d bytes are more than %d", len(said), MaxModule)
	}
	if err := json.Unmarshal(said, &s); err != nil {
		return fmt.Errorf("it is not what this release writes: %w", err)
	}
	d.said = s
	return nil
}

// Said is what the server is to remember when the merged definition is in the
// registry.
func (m *Merged) Said() []byte { return bytes.Clone(jsonvalue.Encode(m.said)) }

// note remembers what the file says of a key.
func (m *merger) note(path string, said any) {
	if text, ok := said.(string); ok {
		m.says[path] = text
	}
}

// keep leaves in mind what the file said of a key before.
func (m *merger) keep(path string) {
	if old, ok := m.said[path]; ok {
		m.says[path] = old
	}
}

// old tells whether the file said the same of a key before.
func (m *merger) old(path string, said any) bool {
	text, _ := said.(string)
	return m.said != nil && m.said[path] == text
}

// recanted tells whether the file said something else of a key before.
func (m *merger) recanted(path string, said any) bool {
	old, ok := m.said[path]
	text, _ := said.(string)
	return ok && old != text
}
