// Package job holds the nouns that every other package speaks of: the
// configuration of a job, the ids of instances and tasks, the parameters of
// items, and one call of a guest with its outcome. It reads and writes the
// texts that ElasticJob has for them, by the rules of Java. It is not for
// decisions (who runs what, and when) nor for where anything is stored.
//
// Flow: a Config comes from a file or from the registry → Validate → the
// protocol core decides on items → a Call is made for each run → its Outcome.
package job
