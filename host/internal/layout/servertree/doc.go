// Package servertree spells the nodes that layouts 2.0 and 1 have in common. They identify
// a member by the address of its server alone, and a node of each item records what it has
// run. The package reads trees and names nodes; for servers of ours, jobtree writes them.
// Packages v20 and v1 spell the configuration.
//
// Flow: Nodes is the table of all nodes; NodeOf finds the row of a path; Read makes a Job
// from a tree, which doctor shows.
//
// What members write, in their order (order_test.go checks it against the recordings):
//
//   - Start: the latch and host, then the configuration, hostName, disabled if the member
//     overwrites, status; shutdown and paused go. A mark for an assignment is made if
//     there is none.
//   - Assignment, by the leader at an instant or trigger: processing; each sharding is
//     deleted; one transaction checks the namespace, creates them anew, and deletes
//     necessary and processing. A server without items gets an empty list.
//   - Round, if execution is monitored: the leader makes cleaning, deletes each completed,
//     makes or deletes nodes of items that a new total has brought or taken, deletes its
//     marks. Each member sets its status, then creates running, lastBeginTime and
//     nextFireTime of each item; when all have ended it sets its status, then for each
//     item creates completed, deletes running and sets lastCompleteTime. Others wait while
//     cleaning is there, but not for a leader that comes later, which deletes what they
//     have completed by then.
//   - Death: the session's end deletes status, running, host. A survivor makes pending each
//     item that was running and not completed; another mark asks for an assignment. SIGTERM
//     cuts the round in 1.1.1, and 2.0.5 waits for its end; neither closes the session.
//   - Take-over, in the queue of the latch: failover with the taker's address, pending goes,
//     then a round of that item alone, after which failover goes.
package servertree
