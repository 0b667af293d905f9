// Package overlay compiles programs that lack a piece of a function, so that tests
// can show that somebody notices. It is for tests alone: the sources know nothing
// of it, and what ships is built without it.
//
// Flow: an Overlay takes the Edits of all mutants → Build compiles the tests of a
// package, with edited copies beside each function → the program is told by
// NumberVariable which of them to call.
package overlay
