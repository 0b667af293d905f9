package sandbox

import (
	"fmt"
	"strings"
)

// Reason is the reason for a refusal, for callers that branch on it.
type Reason string

// The reasons of a Refusal.
const (
	NotWasm      Reason = "not-wasm"        // not a Wasm binary
	IsComponent  Reason = "component"       // a component, not a core module
	Damaged      Reason = "damaged"         // truncated or inconsistent
	TooBig       Reason = "too-big"         // exceeds a limit of this host
	Unsupported  Reason = "unsupported"     // needs an unsupported Wasm feature
	NoMarker     Reason = "no-marker"       // does not export the marker of the ABI
	NoEntry      Reason = "no-entry"        // no function that a job could call
	BadSignature Reason = "bad-signature"   // a known export or import has another type
	BadImport    Reason = "unknown-import"  // imports what the host does not have
	IsCommand    Reason = "command-and-job" // exports both _start and wasmjob_*
	BadMemory    Reason = "bad-memory"      // none, imported, shared or not exported
	CompileDied  Reason = "compile-died"    // its compilation ended processes of this server
)

// Refusal is the error for a module that cannot run. Problem is the fault, and Hint
// how to correct it.
type Refusal struct {
	Reason  Reason
	Problem string
	Hint    string
}

// Error returns problem and hint in one line.
func (r *Refusal) Error() string {
	if r.Hint == "" {
		return r.Problem
	}
	return r.Problem + "; " + r.Hint
}

// usualHints are for refusals that have no better hint of their own.
var usualHints = map[Reason]string{ // read only
	Damaged:     "the file was truncated or changed in transfer; copy it or build it again",
	TooBig:      "build it optimised for size, or split it into several smaller modules",
	Unsupported: "build a core module of WebAssembly 2.0, without later features",
	NotWasm:     "give the .wasm file that the compiler wrote, a core module",
	IsComponent: "build for wasip1 or wasm32-unknown-unknown, not for wasip2",
}

// withHint adds the usual hint for a kind of refusal if there is no better one.
func withHint(err error) error {
	if r, ok := err.(*Refusal); ok && r.Hint == "" { //nolint:errorlint // made here, never wrapped
		r.Hint = usualHints[r.Reason]
	}
	return err
}

const reactorHint = "build a reactor: Go and TinyGo with -buildmode=c-shared, Rust as cdylib, AssemblyScript with --exportStart _initialize"

// shorten makes an untrusted name safe for a message: short and printable.
func shorten(s string) string { return readable(s, 64) }

// maxNamesText is how many bytes of names a message has. Refusals are remembered.
const maxNamesText = 4 << 10

// joinNames joins names for a message, as many as have room.
func joinNames(names []string) string {
	n, size := 0, 0
	for ; n < len(names) && size+len(names[n]) <= maxNamesText; n++ {
		size += len(names[n]) + len(", ")
	}
	if n == len(names) {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
