// Package guest has the tools around one module: it takes a module apart, runs it
// once, lets the module of a strategy assign items once, and shows the sandbox to
// the conformance kit. None of them joins a registry, keeps a history or knows a
// schedule; package host does.
//
// A module runs here in the same sandbox as on a server, so what it does here it
// does there, apart from what the call brings: state, network, clock and secrets
// are the caller's.
package guest
