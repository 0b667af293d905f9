// Package golden holds tests only: it replays what real ElasticJob 2.1.5
// members were recorded doing, with members of ours in their place, and
// compares what either left in the registry. It judges flows as a whole; what
// one rule decides is said by the scripts of package protocol.
//
// Flow: a recording (recording_test.go) → a script of the same starts, writes
// of operators, instants and deaths → members of ours → each node's states in
// either log (compare_test.go) → the differences that are meant
// (differences_test.go), each with a line in docs/PROTOCOL.md, and the order
// that both logs keep (order_test.go).
//
// The members are there twice. Once it is the shipped core, layout and mirror
// on one tree in virtual time: one order, no lag, no faults (script_test.go,
// cluster_test.go). And once it is hosts on a real ZooKeeper, whose transaction
// log is what is compared (served_script_test.go, served_test.go). Both must
// differ from ElasticJob in the same.
package golden
