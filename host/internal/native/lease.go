package native

import "github.com/wasmjob/wasmjob/host/job"

// A frozen server cannot end its commands when other members take over its runs.
// Therefore each supervisor has a lease: the time until which its run may go on without
// a message from the server.

// leaseOf returns the end of a run's lease, as a time of bootTime; 0: without limit.
func leaseOf(c job.Call) int64 {
	now := bootTime() // read first, so that the result is never too late
	if c.Lease == nil || now == 0 {
		return 0
	}
	left, bounded := c.Lease.Left()
	if !bounded {
		return 0
	}
	return max(now+left.Nanoseconds(), 1) // 0 would be without limit
}

// renewals is the largest number of renewals of a lease within its remaining time.
const renewals = 8

// renew sends the supervisor the current lease if it has changed enough to matter: if it
// is limited and was not, or the reverse, or if it ends later by more than a renewals-th
// of the time that is left.
func (s *supervised) renew(c job.Call) {
	until := leaseOf(c)
	if bounded := until != 0; bounded == (s.leaseEnd != 0) && (!bounded || until-s.leaseEnd <= (until-bootTime())/renewals) {
		return
	}
	s.renewUntil(until)
}
