// Package status is the one model of the state of a job, computed from a view of
// its nodes: its members, its items, and what has changed from one view to the
// next. It is pure, decides nothing, and contains no texts.
//
// Of and Items read a view; Between compares two.
package status
