// Package shadow reports what a server would run, without joining. It follows
// jobs in a registry. When a job fires, it reports the items that would begin
// here, and later when they begin elsewhere. It is never a member, writes
// nothing to the registry, and runs no code of a job.
//
// Flow: Run opens one session and follows each job in it → the ticker delivers
// an instant → the strategy assigns the items, with this server among the
// members → Would for its own items → Began when their marks appear.
package shadow
