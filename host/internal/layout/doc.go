// Package layout chooses the layout in which a job is kept, by its configuration. Only
// it and the folders below it know paths; each folder has what one layout spells in its
// own way. The package decides nothing: it writes a protocol.Mutation and reads a
// protocol.View.
//
// Flow: mirror changes → Decoder.Apply → Decoder.View → protocol.Step →
// Layout.Encode → registry commit. docs/NODES.md lists the nodes and who writes
// them, docs/MUTATIONS.md the transactions.
//
// A new layout is a folder like v21, which has a jobtree.Dialect, and a row of the table
// in layout.go. The nodes that all layouts have, with the transactions and views made of
// them, are in jobtree; the values of those that are ours in spelling.
package layout
