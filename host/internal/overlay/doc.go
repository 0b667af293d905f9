// Package overlay compiles programs that lack a piece of a function, to show that a test
// notices. It is for tests alone: the sources do not mention it, and the shipped program
// is built without it.
//
// Flow: an Overlay takes the Edits of all mutants → Build compiles the tests of a
// package, with edited copies beside each function → NumberVariable selects the copy
// that the program calls.
package overlay
