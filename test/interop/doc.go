// Package interop runs jobs whose members are real ElasticJob-Lite 2.1.5
// processes and servers of ours, on a real ZooKeeper: they join and leave each
// other's jobs, die, freeze, and operators of either side change things. It is
// tests alone, which need Java, Maven and some minutes: make interop. It is not
// for searching the rules, which the simulator does; it shows that the published
// library and the built program keep a job together.
//
// Flow: the Java program in java is built once; each scenario starts its members
// in a namespace of its own and notes on a timeline what happens to them. Java
// members print what their schedulers fire and what they run, guests (those of
// test/faults) append it to a file; package judge holds both against the timeline,
// tells ElasticJob's own doing apart by ZooKeeper's log, and prints a line for
// each role and event. A scenario is played once: what it breaks, it breaks.
package interop
