// Package gson reads and writes JSON like the library that members of ElasticJob use for a
// configuration: it is as lenient, and has the same order and escapes. It leaves unchanged
// values as they are written. It knows no keys.
package gson
