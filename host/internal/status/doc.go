// Package status is the one model of how a job is, by a view of its nodes: its
// members, its items, and what became of it from one view to the next. It is pure,
// decides nothing, and puts no words to what it tells.
//
// Of and Items read a view; Between holds two against each other.
package status
