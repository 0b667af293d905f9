// Package interop runs jobs shared by real processes of ElasticJob-Lite 2.1.5, or 3.0.4,
// and our servers, on a real ZooKeeper. Members of either side join, leave, die
// and freeze, and operators of either side change things. It holds tests only,
// which need Java, Maven and some minutes: make interop. The simulator searches
// the rules; these tests show that the published library and the built program
// work together.
//
// Flow: the Java program of the release in the folder java is built once → each scenario
// starts its members in a namespace of its own and notes on a timeline what
// happens to them → Java members print what their schedulers fire and what they
// run, guests (those of test/faults) append it to a file → package check
// compares both with the timeline, finds out by ZooKeeper's log what ElasticJob
// itself did, and prints a line for each role and event. A failed scenario is
// not repeated.
package interop
