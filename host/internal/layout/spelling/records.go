package spelling

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// Records are decoded values of ours by their bytes: members' records and assignments.
// Decoders that share them decode each value once, which saves a process with many decoders
// of one tree most of the time. Entries are never removed, so Records are for processes
// that end soon. Many views may share a value, so callers must not change it.
type Records map[string]*decoded

// decoded is a decoded value; one of the two is nil.
type decoded struct {
	runs       *protocol.RunsData
	assignment *protocol.Assignment
}

// Decode returns a member's record. A nil r keeps nothing.
func (r Records) Decode(data []byte) (*protocol.RunsData, error) {
	if d := r[string(data)]; d != nil && d.runs != nil {
		return d.runs, nil
	}
	d, err := DecodeRuns(data)
	if err == nil && r != nil {
		r[string(data)] = &decoded{runs: &d}
	}
	return &d, err
}

// DecodeAssignment returns the assignment.
func (r Records) DecodeAssignment(data []byte) (protocol.Assignment, error) {
	if d := r[string(data)]; d != nil && d.assignment != nil {
		return *d.assignment, nil
	}
	a, err := DecodeAssignment(data)
	if err == nil && r != nil {
		r[string(data)] = &decoded{assignment: &a}
	}
	return a, err
}
