// Package operator queries and changes a cluster through its registry: reports
// on jobs, items and servers, verbs such as trigger and pause, the modules of
// jobs, a dump of the nodes, and the checkups of doctor, which show why a server
// cannot run a job. An operator is never a member of a job and runs nothing; the
// members act on what it writes.
//
// Flow: Open opens a session, or a SharedSession shares one between the requests of a server → a
// report reads the nodes of a job into one view → a verb reads the same view and writes
// its request in one transaction. The transaction is refused if the job has changed
// meanwhile; then the verb reads again and tries again.
package operator
