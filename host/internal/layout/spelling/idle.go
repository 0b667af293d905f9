package spelling

import "github.com/wasmjob/wasmjob/host/internal/protocol"

type idleJSON struct {
	Idle    [][2]int64 `json:"idle,omitempty"` // between two instants
	Resumed byItem     `json:"resumed,omitzero"`

	Unattended int64 `json:"unattended,omitempty"` // the job had no member up to then
}

// idleOf converts what the core knows of times without begins to its JSON; idle converts it
// back.
func idleOf(d *protocol.Idle) idleJSON {
	j := idleJSON{Resumed: d.Resumed, Unattended: d.Unattended}
	for _, s := range d.Spans {
		j.Idle = append(j.Idle, [2]int64{s.From, s.To})
	}
	return j
}

// idle is the reverse of idleOf.
func (j *idleJSON) idle() protocol.Idle {
	d := protocol.Idle{Resumed: j.Resumed, Unattended: j.Unattended}
	for _, s := range j.Idle {
		d.Spans = append(d.Spans, protocol.Span{From: s[0], To: s[1]})
	}
	return d
}
