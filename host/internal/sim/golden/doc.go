// Package golden holds tests only. It replays recordings of real ElasticJob
// 2.1.5 members with our members in their place, and compares what both left in
// the registry. It compares flows as a whole; the scripts of package protocol
// test single rules.
//
// Flow: a recording (recording_test.go) → a script of the same starts, writes
// of operators, instants and deaths → our members → the states of each node in
// either log (compare_test.go) → the intended differences
// (differences_test.go), each with a line in docs/DIFFERENCES.md, and the order
// that both logs keep (order_test.go).
//
// Each flow runs twice: with the shipped core, layout and mirror on one tree in
// virtual time, without lag or faults (script_test.go, cluster_test.go), and
// with hosts on a real ZooKeeper, by its transaction log
// (served_script_test.go, served_test.go). Both must differ from ElasticJob in
// the same way.
package golden
