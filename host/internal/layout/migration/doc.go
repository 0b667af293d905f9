// Package migration moves a job that nobody runs from a layout to a later one, and back. It is
// pure: it makes a Plan of the nodes that it is given, and whoever has a registry writes it.
//
// Flow: Forward and Back look at a Tree. They refuse one that is of two layouts, or that a
// session holds a node of, make the tree that is wanted, and spell the difference. Nothing
// that members of either layout read changes before Plan.Turn, which is one transaction, so
// each cut leaves a job of one layout. The same call on what a cut has left plans the rest.
package migration
