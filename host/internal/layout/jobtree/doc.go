// Package jobtree has the nodes of one job: their names, what a view is made of, and the
// transactions of what was decided, in their order, with their fences and bounds. It is
// what all layouts have in common; what one of them spells in its own way it asks its
// Dialect. It decides nothing.
package jobtree
