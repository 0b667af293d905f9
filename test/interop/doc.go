// Package interop runs jobs shared by real processes of ElasticJob-Lite 2.1.5, or 3.0.4,
// and our servers, on a real ZooKeeper. Members of either side join, leave, die and
// freeze, and operators of either side make changes. It contains only tests, which need
// Java, Maven and some minutes: make interop. The simulator searches the rules; these
// tests show that the published library and the built program work together.
//
// Flow: the Java program of the release in the folder java is built once → each scenario
// starts its members in its own namespace and records its events on a timeline → Java
// members print what their schedulers fire and what they run, guests (of test/faults)
// append their lines to a file → package check compares both with the timeline,
// determines from ZooKeeper's log what ElasticJob itself did, and prints a line for each
// role and event. A failed scenario is not repeated.
package interop
