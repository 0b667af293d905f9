// Package gson reads and writes JSON as the library does with which members of
// ElasticJob keep a configuration: as leniently, with its order and escapes, and
// leaving as it is what does not change. It does not know which keys there are.
package gson
