// Package layout chooses in which layout a job is kept, by its configuration. It is
// the only package that knows a path, with the folders below it: each has what one
// layout spells in its own way. It decides nothing: what is written is a
// protocol.Mutation, what is read becomes a protocol.View.
//
// Flow: mirror changes → Decoder.Apply → Decoder.View → protocol.Step →
// Layout.Encode → registry commit. docs/NODES.md lists the nodes and who writes
// them, docs/MUTATIONS.md the transactions.
//
// A new layout is a folder like v21, which has a jobtree.Dialect, and a row of the table
// in layout.go. The nodes that all layouts have, with the transactions and views made of
// them, are in jobtree; the values of those that are ours in spelling.
package layout
