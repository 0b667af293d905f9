// Package operator asks and changes a cluster through its registry: reports on
// jobs, items and servers, verbs such as trigger and pause, the modules of
// jobs, a dump of the nodes, and doctor, which says what keeps a server from a
// job. It is never a member of a job and runs nothing; the members act on what
// it writes.
//
// Flow: Open opens a session → a report reads the nodes of a job into one view
// → a verb reads the same view and writes the wish in one transaction, which is
// refused if the job has changed meanwhile; then it tries again.
package operator
