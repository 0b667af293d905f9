package sandbox

import (
	"fmt"
	"strings"
)

// Reason says why a module was refused, for callers that branch on it.
type Reason string

// The reasons of a Refusal.
const (
	NotWasm      Reason = "not-wasm"        // something else than a Wasm binary
	IsComponent  Reason = "component"       // a component, not a core module
	Damaged      Reason = "damaged"         // breaks off or contradicts itself
	TooBig       Reason = "too-big"         // beyond a bound of this host
	Unsupported  Reason = "unsupported"     // needs a Wasm feature that is not offered
	NoMarker     Reason = "no-marker"       // does not say which ABI it speaks
	NoEntry      Reason = "no-entry"        // nothing that a job could call
	BadSignature Reason = "bad-signature"   // a known export or import of another type
	BadImport    Reason = "unknown-import"  // asks for what the host does not have
	IsCommand    Reason = "command-and-job" // exports _start beside wasmjob_*
	BadMemory    Reason = "bad-memory"      // none, imported, shared or not exported
	CompileDied  Reason = "compile-died"    // its compilation ended processes of this server
)

// Refusal is the error for a module that will not be run. Problem says what is
// wrong and Hint how to build it right.
type Refusal struct {
	Reason  Reason
	Problem string
	Hint    string
}

// Error gives problem and hint in one line.
func (r *Refusal) Error() string {
	if r.Hint == "" {
		return r.Problem
	}
	return r.Problem + "; " + r.Hint
}

// withHint adds, where nothing better is known, what helps with most refusals of
// the kind.
func withHint(err error) error {
	r, ok := err.(*Refusal) //nolint:errorlint // made here, never wrapped
	if !ok || r.Hint != "" {
		return err
	}
	switch r.Reason {
	case Damaged:
		r.Hint = "the file was cut off or changed on its way; copy it again, or build it anew"
	case TooBig:
		r.Hint = "build it optimised for size, or as several smaller parts"
	case Unsupported:
		r.Hint = "build a core module of WebAssembly 2.0, without later features"
	case NotWasm:
		r.Hint = "give the .wasm file that the compiler wrote, a core module"
	case IsComponent:
		r.Hint = "build for wasip1 or wasm32-unknown-unknown, not for wasip2"
	case NoMarker, NoEntry, BadSignature, BadImport, IsCommand, BadMemory, CompileDied:
		// Whoever found these knew better.
	}
	return r
}

const reactorHint = "build a reactor: Go and TinyGo with -buildmode=c-shared, Rust as cdylib, AssemblyScript with --exportStart _initialize"

// shorten keeps hostile names out of messages: not longer than a name may be,
// and nothing that a terminal would act upon.
func shorten(s string) string { return readable(s, 64) }

// joinNames joins names for a message and stops after a hundred.
func joinNames(names []string) string {
	const most = 100
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
