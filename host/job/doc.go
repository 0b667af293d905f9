// Package job holds the types that all other packages use: the configuration of a job, the ids
// of instances and tasks, the parameters of items, and one call of a guest with its outcome. It
// parses and writes ElasticJob's texts for them by Java's rules. It decides nothing (which
// server runs an item, and when) and stores nothing.
//
// Flow: a Config comes from a file or from the registry → Validate → the protocol core assigns
// items and begins runs → each attempt is a Call → its Outcome.
package job
