// Package panics makes the text of a panic reach the host when a module is
// built with TinyGo; importing it is enough. With Go it holds nothing: there
// the text is on stderr by itself.
package panics
