// Package jobtree has the nodes of one job: their names, what a view is made of, and the
// transactions of what was decided, in their order, with their fences and bounds. What a
// layout spells in its own way it asks that layout's Dialect. It decides nothing.
package jobtree
