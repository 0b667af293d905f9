// Package session keeps the one registry session of a server and gives each of
// its jobs a line: a view of that session that is the job's own. It judges how
// far the session can be trusted, and makes the nodes above the jobs. It is not
// for what the nodes of a job mean, nor for deciding anything about a job.
//
// A line is to its job what a session of its own would be. It hears of the
// job's paths alone, besides of what happens to the whole session. When it is
// closed, or the session ends, what it had under way has come to an end, and
// its ephemeral nodes are gone; so a job can go through many lives in one
// session, and none meets what an earlier one began.
//
// Flow: Run opens a session, again and again while the service is away, follows
// the namespace and makes it → Open waits for that and gives a Line → the events
// of the session find their line by path, and go to its Listener; requests go
// out through Fetch and Submit, a bounded number at once, or directly → the
// session ends, with all lines, and Run opens another.
package session
