// Package guest has the tools around one module: it inspects a module, runs it
// once, lets a strategy's module assign items once, and adapts the sandbox to
// the conformance kit. It joins no registry, keeps no history and knows no
// schedule; package host does.
//
// A module runs in the same sandbox as on a server and behaves as there, except
// for what the caller supplies: state, network, clock and secrets.
package guest
