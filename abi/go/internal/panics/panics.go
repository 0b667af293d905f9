// Package panics makes the text of a panic reach the host if a module is built with
// TinyGo; importing it is enough. With Go it contains nothing: there the runtime writes
// the text to stderr.
package panics
