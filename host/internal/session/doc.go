// Package session keeps the registry session of a server and gives each job a share
// of it: its job session. It measures the session's health, that is, how sure the
// server can be that the registry has not ended the session. It also creates the
// nodes above the jobs. It does not know what the nodes of a job mean, and decides
// nothing about a job.
//
// A job session acts as if the job had a registry session to itself. It receives
// the events of the job's own paths and those of the whole session. When it is
// closed, or the registry session ends, its requests have ended and its ephemeral
// nodes are gone. So a job can leave and join again many times within one registry
// session, and never meets remains of an earlier time.
//
// Flow: Server.Run opens a session, retrying while the service is away, follows the
// namespace and creates it → Server.Open waits for that and returns a Job → events
// go by their path to the job's Listener; requests go out directly, or through
// Fetch and Submit, which bound how many are in flight → when the session ends, all
// its job sessions end, and Run opens another session.
package session
