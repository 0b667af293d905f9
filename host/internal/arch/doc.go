// Package arch holds the rules of the project's shape as tests. They read the
// source of every package and fail when a rule of docs/ARCHITECTURE.md is
// broken, or when a document no longer says what the code does. It does not
// test behaviour, and exports nothing.
//
// Flow: load_test.go parses the tree once. Each other file has one family of
// rules, with a table where the rule has exceptions and a sample in testdata
// that the rule must refuse. pages_test.go writes the generated pages of docs.
package arch
