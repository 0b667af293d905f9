// Package clustertree spells the state of a cluster that belongs to no job: the tokens of
// callers, the audit of writes, idempotency keys, alerts, names of modules, and the servers
// that others can ask or that start nothing. It is beside the namespace, in a root of its
// own, where no release of ElasticJob looks. The package does not know its users, nor what
// they do with the values.
//
// Flow: a value is changed in memory → Encode makes its text, within bounds → Decode reads
// exactly such texts and refuses all others, since a part that this release does not know
// may be a restriction.
package clustertree
