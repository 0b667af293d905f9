// Package arch keeps the shape of the project: its tests read the source of
// every package and fail when a rule of docs/ARCHITECTURE.md is broken. It is
// not for behaviour; nothing imports it and it exports nothing.
//
// Flow: load_test.go parses the tree once; each other file holds one family of
// rules, with a table where the rule has exceptions and a sample in testdata
// that the rule must refuse.
package arch
