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
// then everything heals and the end state is judged. Mutants (each a removed
// rule, applied to a copy of the sources) prove that the invariants bite.
package sim
