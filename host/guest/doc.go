// Package guest has the tools for a single module: it inspects a module, runs it once, calls a
// strategy once, and adapts the sandbox to the conformance kit. It has no registry, history or
// schedule; package host has.
//
// A module runs in the same sandbox as on a server, with the state, network, clock and secrets
// that the caller supplies.
package guest
