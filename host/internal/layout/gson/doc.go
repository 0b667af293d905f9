// Package gson reads and writes JSON like the library that members of ElasticJob use for
// a configuration: as leniently, and with its order and escapes. It leaves unchanged
// values as they are written. It knows no keys.
package gson
