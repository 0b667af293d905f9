package host

import (
	"context"
	"io"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// CompileInSubprocess is the main function of the program in Options.Compiler. args are its
// last two arguments, wasm is its standard input and say its standard error. It compiles one
// module within limits of its own, and returns the exit code.
func CompileInSubprocess(ctx context.Context, args []string, wasm io.Reader, say io.Writer) int {
	return sandbox.CompileInSubprocess(ctx, args, wasm, say)
}

// RefusedModules returns the modules that the server with this data directory refuses because
// compiling them ended a process: the reason by digest.
func RefusedModules(dir string) (map[string]string, error) {
	refused, err := supply.Dir(dir).Refused()
	if err != nil {
		return nil, failf(Internal, err, "data directory %s", dir)
	}
	return refused, nil
}

// RetryModule makes the server with this data directory compile a refused module again. A
// running server does so when a job with the module fires next.
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

// count passes an event to Options.Count if it is set.
func (o *Options) count(e *Event) {
	if o.Count != nil {
		o.Count(e)
	}
}
