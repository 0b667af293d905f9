// Package sim runs a whole cluster in one goroutine, in virtual time, from one
// seed: the shipped protocol.Step, layout, mirror and commit encoder, on a
// registry that is as weak as ZooKeeper. Only sockets, clocks and guests are
// replaced. Every invariant is checked at every transaction and every start of
// a guest; a seed that breaks one reproduces exactly and prints what happened.
//
// It is no load test and no substitute for the conformance suite of a real
// registry.
//
// Some seeds have members of ElasticJob 2.1.5 among ours: Java processes that act
// on the tree as that version does, step by step. Of what they do only that is
// judged which needs ours to be right.
//
// Flow: New(seed) → Run: faults and operators disturb until the calm begins,
// then everything heals and the end state is judged. Busy worlds have load to
// their end, and what waits in them is judged by its age. Mutants prove that the
// invariants bite: each lacks a rule or a fence, or has other code in a function.
//
// What a seed means changes with each draw that is added. A run that broke a
// promise is therefore kept as its draws, by the function that drew them, in
// testdata/schedules; the test replays it after every change. A new draw stands
// in a function of its own, and a new disturbance begins with a chance of at
// most one half: then the replays are as they were.
package sim
