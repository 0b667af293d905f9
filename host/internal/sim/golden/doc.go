// Package golden holds tests only: it replays what real ElasticJob 2.1.5
// members were recorded doing, with members of ours in their place, and
// compares what either left in the registry. It imports the shipped core,
// layout and mirror; it is no simulation: one order, no lag, no faults.
//
// Flow: a recording (recording_test.go) → a script of the same starts, writes
// of operators, instants and deaths (script_test.go) → members of ours on one
// tree in virtual time (cluster_test.go) → each node's states in either log
// (compare_test.go) → the differences that are meant (differences_test.go),
// each with a line in docs/PROTOCOL.md, and the order that both logs keep
// (order_test.go).
package golden
