// Package clustertree spells the state of a cluster that belongs to no job: the tokens of
// callers, the audit of writes, the keys that triggers were presented with, alerts, names of
// modules, and the servers that others can ask or that start nothing. It stands beside the
// namespace, in a root of its own, where no release of ElasticJob looks. Who reads and
// writes it, and what follows, is not its business.
//
// Flow: a value is changed in memory → Encode makes its text, within bounds → Decode reads
// exactly such texts and refuses all others, since a part that this release does not know
// may be a restriction.
package clustertree
