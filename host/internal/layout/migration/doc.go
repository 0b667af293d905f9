// Package migration moves a job without members from a layout to a later one, and back. It
// is pure: it makes a Plan from the nodes that it is given, and a caller with a registry
// writes the Plan.
//
// Flow: Forward and Back look at a Tree. They refuse a tree of two layouts, and one with a
// node that a session holds. They make the intended tree, and encode the difference.
// Nothing that members of either layout read changes before Plan.Turn, which is one
// transaction, so an interruption leaves a job of one layout. The same call on the nodes
// that it has left plans the remaining writes.
package migration
