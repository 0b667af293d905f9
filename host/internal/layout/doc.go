// Package layout chooses the layout of a job by its configuration. Only it and the folders
// below it know paths; each folder has what is particular to one layout. The package
// decides nothing: it writes a protocol.Mutation and reads a protocol.View.
//
// Flow: mirror changes → Decoder.Apply → Decoder.View → protocol.Step → Layout.Encode →
// registry commit. docs/NODES.md lists the nodes and their writers, docs/MUTATIONS.md the
// transactions.
//
// A new layout is a folder like v21, with a jobtree.Dialect, and a row of the table in
// layout.go. jobtree has the nodes that all layouts share, and the transactions and views
// made from them; spelling has the values of our own nodes.
package layout
