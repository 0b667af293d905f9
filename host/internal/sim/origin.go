package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// origin is the writer of a transaction, with what it knew when it decided.
type origin struct {
	member *member
	self   protocol.ID
	m      protocol.Mutation
	view   *protocol.View
	ticked int64 // the newest instant that had come due at the member
	ending bool  // the member had been asked to leave

	sent     int64 // when it was sent
	now      int64 // by the member's clock
	skew     int64 // error of that clock, as measured last
	unstored int   // rows that the history had not acknowledged to the member
	marked   int64 // ms since the member saw the reshard mark
	asked    int64 // ms since it saw the newest request to it
	what     string
	java     *jvm // the foreign member that wrote it; nil: none did
}

// String names the writer and what it wrote, for traces and breaches.
func (o origin) String() string {
	if o.java != nil {
		return o.java.name() + o.what
	}
	if o.m == nil {
		return o.what
	}
	return o.member.name() + " " + describe(o.m)
}

// registryTime is the time of the registry's clock as the member knew it.
func (o origin) registryTime() int64 { return o.now - o.skew }

// later reports whether an instant after t had come due at the member. Members wait with
// an instant until the registry's clock is near it. If the member's clock was set back
// during that wait, the instant has not come, and the schedule delivers it again.
func (o origin) later(t int64) bool {
	most := int64(tolerated)
	if c := o.view.Config; c != nil && c.MaxSkew > 0 {
		most = c.MaxSkew
	}
	return t < o.ticked && o.ticked <= o.now+min(0, most-o.skew)
}
