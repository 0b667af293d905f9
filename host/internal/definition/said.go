package definition

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
)

// A server remembers the values of its own file from when it was last applied. They show
// whether the file has changed since. The registry's base cannot show that, because
// another server's file may have been applied in between.

// Recall gives a file's definition the earlier values of the file, as encoded by
// Merged.Said. If they cannot be read, Merge uses only the registry.
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

// Said returns the values to remember once the merged definition is in the registry.
func (m *Merged) Said() []byte { return bytes.Clone(jsonvalue.Encode(m.said)) }

// note has Said remember the file's value of a key, which is a digest; nothing if the file
// does not have the key.
func (m *merger) note(path string, said any) {
	if text, ok := said.(string); ok {
		m.says[path] = text
	}
}

// keep has Said remember the file's earlier value of a key, since its present one was not
// applied.
func (m *merger) keep(path string) {
	if old, ok := m.said[path]; ok {
		m.says[path] = old
	}
}

// old reports whether the file is known to have had the same value for a key before.
func (m *merger) old(path string, said any) bool {
	text, _ := said.(string)
	return m.said != nil && m.said[path] == text
}

// changedInFile reports whether the file had another value for a key before.
func (m *merger) changedInFile(path string, said any) bool {
	old, ok := m.said[path]
	text, _ := said.(string)
	return ok && old != text
}
