package host

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// CompileInSubprocess is the main function of the program in Options.Compiler. args are its last
// two arguments, wasm is its standard input and say its standard error. It compiles one
// module within limits of its own, and returns the exit code.
func CompileInSubprocess(ctx context.Context, args []string, wasm io.Reader, say io.Writer) int {
	return sandbox.CompileInSubprocess(ctx, args, wasm, say)
}

// Signing is by whom a module has to be signed, and how it is signed.
type Signing struct {
	Keys      []string // public keys in minisign's format, of which one has to have signed; none: nobody has to
	Signature []byte   // the text of a signature in minisign's format; nil: there is none
}

// KeepModule puts a module into the store of the server with the data directory dir,
// which may be running. No job runs the module because of it. Bytes with another digest,
// modules that are too large, and those that are not signed as they have to be are Invalid.
// Without a signature, one that the server has already will do.
func KeepModule(dir string, r io.Reader, digest string, s Signing) error {
	keys, err := signature.ParseKeys(s.Keys)
	if err != nil {
		return failf(Invalid, err, "keys of modules")
	}
	err = supply.Dir(dir).Keep(r, digest, s.Signature, keys)
	switch {
	case errors.Is(err, module.ErrPin), errors.Is(err, module.ErrTooBig), errors.Is(err, signature.ErrUnsigned), errors.Is(err, signature.ErrText), module.CheckDigest(digest) != nil:
		return failf(Invalid, err, "keep a module")
	case err != nil:
		return failf(Internal, err, "keep a module in %s", dir)
	}
	return nil
}

// CheckModule returns the error that KeepModule would return for these bytes on a server that
// has no signature of theirs, and keeps none of them.
func CheckModule(r io.Reader, digest string, s Signing) error {
	const what = "keep a module"
	keys, err := signature.ParseKeys(s.Keys)
	if err != nil {
		return failf(Invalid, err, "keys of modules")
	}
	if err := module.CheckDigest(digest); err != nil {
		return failf(Invalid, err, what)
	}
	wasm, err := io.ReadAll(io.LimitReader(r, module.MaxSize+1))
	got := module.Digest(wasm)
	switch {
	case err != nil:
		return failf(Internal, err, what)
	case len(wasm) > module.MaxSize:
		return failf(Invalid, module.ErrTooBig, "%s of more than %d bytes", what, module.MaxSize)
	case got != digest:
		return failf(Invalid, module.ErrPin, "%s: its sha256 is %s, want %s", what, got, digest)
	}
	if _, err := keys.Check(wasm, s.Signature); err != nil {
		return failf(Invalid, err, what)
	}
	return nil
}

// RefusedModules returns the modules that the server with this data directory refuses
// because compiling them ended a process, with the reason by digest.
func RefusedModules(dir string) (map[string]string, error) {
	refused, err := supply.Dir(dir).Refused()
	if err != nil {
		return nil, failf(Internal, err, "data directory %s", dir)
	}
	return refused, nil
}

// RetryModule makes the server with this data directory compile a refused module again. A
// running server tries it when a job with the module fires next.
func RetryModule(dir, digest string) error {
	if err := module.CheckDigest(digest); err != nil {
		return failf(Invalid, err, "retry a module")
	}
	if err := supply.Dir(dir).Retry(digest); err != nil {
		return failf(Internal, err, "data directory %s", dir)
	}
	return nil
}

// refusedModule reports a refused module to the observer; the log has it already.
func (o *Options) refusedModule(digest, why string) {
	e := Event{Kind: EventModule, At: time.Now(), Outcome: job.Outcome{Digest: digest}, Instance: o.Instance, Reason: reason.Of(reason.ModuleRefused, why)}
	o.count(&e)
	if o.Observe != nil {
		o.Observe(e)
	}
}

// compiledModule counts a compiled module.
func (o *Options) compiledModule(digest string, took time.Duration) {
	o.count(&Event{Kind: EventCompiled, At: time.Now(), Outcome: job.Outcome{Digest: digest, Took: took}, Instance: o.Instance})
}

func (o *Options) count(e *Event) {
	if o.Count != nil {
		o.Count(e)
	}
}
