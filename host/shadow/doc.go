// Package shadow reports what a server would run, without joining. It follows
// jobs in a registry; when one fires it says which items would begin here, and
// when they were seen to begin elsewhere. It is never a member, writes nothing
// to the registry, and runs no code of a job.
//
// Flow: Run opens one session with a mirror of each job → the ticker brings an
// instant → the strategy assigns the items, with this server among the members
// → Would for its own items → Began when their marks appear.
package shadow
