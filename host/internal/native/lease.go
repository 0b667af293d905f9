package native

import "github.com/wasmjob/wasmjob/host/job"

// A frozen server ends nothing and does not notice that other members take over its
// runs. Therefore each supervisor has a lease: it knows how long its run may go on
// without word from the server.

// leaseOf returns the time of bootTime until which a run may go on without word
// from its server; 0: without limit.
func leaseOf(c job.Call) int64 {
	now := bootTime() // read first, so that the result is never too late
	if c.Lease == nil || now == 0 {
		return 0
	}
	left, bounded := c.Lease.Left()
	if !bounded {
		return 0
	}
	return max(now+left.Nanoseconds(), 1)
}

// renewals is how often a lease is renewed, at most, within the time that it has
// left.
const renewals = 8

// renew sends the supervisor the current lease if it has changed enough to matter.
func (s *supervised) renew(c job.Call) {
	until := leaseOf(c)
	if bounded := until != 0; bounded == (s.last != 0) && (!bounded || until-s.last <= (until-bootTime())/renewals) {
		return
	}
	s.vouch(until)
}
