// Package status is the only model of the state of a job, computed from a view of
// its nodes: its members, its items, and the changes between two views. It is
// pure, decides nothing, and contains no texts.
//
// Of and Items read a view; Between compares two.
package status
