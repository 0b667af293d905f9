// Package status tells how a job is, by views of its nodes: what became of it from
// one view to the next. It is pure, decides nothing, and puts no words to what it
// tells.
package status
