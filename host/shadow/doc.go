// Package shadow tells what a server would run, without joining: it follows jobs
// in a registry, and says whenever one fires which items would begin here, and
// when they are seen to begin elsewhere. It is never a member, writes nothing to
// the registry and runs no code of a job; package host does.
//
// The flow: Run opens one session, with a mirror of each job → the ticker brings
// an instant → the strategy assigns the items, with this server among the members
// → Would for those that would be its own → Began when their marks appear.
package shadow
