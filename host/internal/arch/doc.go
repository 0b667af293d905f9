// Package arch holds the rules for the project's structure as tests. They read the source
// of every package and fail if a rule of docs/ARCHITECTURE.md is broken, or if a document
// no longer agrees with the code. It does not test behaviour, and exports nothing.
//
// Flow: load_test.go parses the tree once. Each other file has one family of
// rules, with a table where the rule has exceptions and a sample in testdata
// that the rule must refuse. pages_test.go writes the generated pages of docs.
package arch
