// Package operator is what operators ask of a cluster through its registry: how
// jobs, items and servers are, verbs such as a trigger or a pause, the modules of
// jobs, a dump of the nodes, and doctor, which says what keeps a server from a
// job. It is never a member of a job and runs nothing; members act on what it
// writes.
//
// The flow: Open opens a session → a report reads the nodes of a job into one view
// and says what is in it → a verb reads the same view, writes the wish in one
// transaction that is refused if the job has changed meanwhile, and tries again.
package operator
