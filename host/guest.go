package host

import (
	"context"

	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// ModuleReport says what a module consists of, without running it.
type ModuleReport = sandbox.Report

// ModuleRefusal is the error for a module that this host will not run; it says
// what is wrong and how to build the module right.
type ModuleRefusal = sandbox.Refusal

// InspectModule takes a module apart. The report is filled in also when the
// error is a *ModuleRefusal, unless nothing could be read (then its Digest is
// empty).
func InspectModule(wasm []byte) (report ModuleReport, err error) {
	err = withSandbox(func(e *sandbox.Engine) error {
		report, err = e.Inspect(wasm)
		return err
	})
	return report, err
}

// RunModule runs a module once, outside of any server: no registry, no
// history, nothing but the call. A guest's fault is an outcome; the error is a
// *ModuleRefusal or a fault of this host.
func RunModule(ctx context.Context, wasm []byte, c job.Call) (out job.Outcome, err error) {
	err = withSandbox(func(e *sandbox.Engine) error {
		m, err := e.Load(ctx, wasm)
		if err != nil {
			return err
		}
		defer m.Close()
		out = e.Run(ctx, m, c)
		return nil
	})
	return out, err
}

// withSandbox lends a sandbox for one piece of work.
func withSandbox(use func(*sandbox.Engine) error) error {
	e, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return err
	}
	err = use(e)
	if closeErr := e.Close(); err == nil {
		err = closeErr
	}
	return err
}
