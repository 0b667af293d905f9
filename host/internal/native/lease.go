package native

import "github.com/wasmjob/wasmjob/host/job"

// A frozen server ends nothing, and hears nothing of others that take its runs
// over. Therefore its supervisors know how long the run may last without it.

// leaseOf is until when a run may go on if nothing more is heard of its server, by
// bootTime; 0: for ever.
func leaseOf(c job.Call) int64 {
	now := bootTime() // before what is left is looked at, so that it is never more
	if c.Lease == nil || now == 0 {
		return 0
	}
	left, bounded := c.Lease.Left()
	if !bounded {
		return 0
	}
	return max(now+left.Nanoseconds(), 1)
}

// renewals is how often, at most, the lease is renewed in the time that it has left.
const renewals = 8

// renew tells the supervisor what has become of the lease, if that is worth it.
func (s *supervised) renew(c job.Call) {
	until := leaseOf(c)
	if bounded := until != 0; bounded == (s.last != 0) && (!bounded || until-s.last <= (until-bootTime())/renewals) {
		return
	}
	s.vouch(until)
}
