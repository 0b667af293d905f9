package host

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// CompileApart is all that the program does which Options.Compiler names: args
// are the last two of its command line, wasm is its standard input and say its
// standard error. It compiles one module within bounds of its own, and returns
// the exit code.
func CompileApart(ctx context.Context, args []string, wasm io.Reader, say io.Writer) int {
	return sandbox.CompileInSubprocess(ctx, args, wasm, say)
}

// KeepModule puts a module into the store of the server whose data directory is
// dir, which may run meanwhile; no job runs it by that. Bytes that do not have
// the digest are refused, and so are more than a module may have.
func KeepModule(dir string, r io.Reader, digest string) error {
	err := supply.Dir(dir).Keep(r, digest)
	switch {
	case errors.Is(err, module.ErrPin), errors.Is(err, module.ErrTooBig), module.CheckDigest(digest) != nil:
		return failf(Invalid, err, "keep a module")
	case err != nil:
		return failf(Internal, err, "keep a module in %s", dir)
	}
	return nil
}

// RefusedModules are the modules, by digest, that the server with this data
// directory does not compile any more because that ended processes, each with
// the reason.
func RefusedModules(dir string) (map[string]string, error) {
	refused, err := supply.Dir(dir).Refused()
	if err != nil {
		return nil, failf(Internal, err, "data directory %s", dir)
	}
	return refused, nil
}

// RetryModule has the server with this data directory compile a module again
// that it refuses because that ended processes. A server that runs tries when
// the job fires next.
func RetryModule(dir, digest string) error {
	if err := module.CheckDigest(digest); err != nil {
		return failf(Invalid, err, "retry a module")
	}
	if err := supply.Dir(dir).Retry(digest); err != nil {
		return failf(Internal, err, "data directory %s", dir)
	}
	return nil
}

// refusedModule tells the observer of a module that is refused because compiling
// it ended processes; the log has it already.
func (o *Options) refusedModule(digest, why string) {
	if o.Observe != nil {
		o.Observe(Event{Kind: EventModule, At: time.Now(), Outcome: job.Outcome{Digest: digest}, Instance: o.Instance, Reason: reason.Of(reason.ModuleRefused, why)})
	}
}
