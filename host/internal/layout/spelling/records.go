package spelling

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// Records are members' records by their bytes. Decoders that share them decode
// each once, so a process that has many decoders of one tree needs a fraction of
// the time. Entries are never removed: Records are for processes that end soon.
type Records map[string]*protocol.RunsData

// Decode returns the record. Many views may share it, so callers do not change it.
func (r Records) Decode(data []byte) (*protocol.RunsData, error) {
	if d, ok := r[string(data)]; ok {
		return d, nil
	}
	d, err := DecodeRuns(data)
	if err == nil && r != nil {
		r[string(data)] = &d
	}
	return &d, err
}
