// Package job holds the types that all other packages use: the configuration of a
// job, the ids of instances and tasks, the parameters of items, and one call of a
// guest with its outcome. It parses and writes their ElasticJob texts by Java's
// rules. It decides nothing (which server runs what, and when) and stores nothing.
//
// Flow: a Config comes from a file or from the registry → Validate → the protocol
// core decides on items → a Call is made for each run → its Outcome.
package job
