// Package jobtree has the nodes of one job: their names, the views made from them, and the
// transactions for decisions, in their order, with their fences and bounds. Where layouts
// differ it asks the layout's Dialect. It decides nothing.
package jobtree
