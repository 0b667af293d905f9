package sandbox

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Error numbers of WASI.
const (
	errnoInval       = 28
	errnoNametoolong = 37
	errnoNotsup      = 58
)

// Limits of one WASI call. Without them a call could use time and memory of the host in
// proportion to the guest's memory.
const (
	maxBuffers = 1024 // buffers of one read or write, as in operating systems
	maxWaits   = 4096 // subscriptions
)

// wasiBound is a parameter of a WASI function and its limit.
type wasiBound struct {
	param int
	limit uint32
	errno uint64 // the result above the limit; 0: the parameter is reduced to the limit
}

// wasiBounds returns the limits of each function. The numbers are positions of parameters.
// For a path that is the position of its length.
func wasiBounds() map[string][]wasiBound {
	pieces := []wasiBound{{2, maxBuffers, 0}}
	paths := func(params ...int) (all []wasiBound) {
		for _, p := range params {
			all = append(all, wasiBound{p, maxPath, errnoNametoolong})
		}
		return all
	}
	return map[string][]wasiBound{
		"fd_read": pieces, "fd_pread": pieces, "fd_write": pieces, "fd_pwrite": pieces,
		"poll_oneoff": {{2, maxWaits, errnoInval}},
		"path_open":   paths(3), "path_create_directory": paths(2), "path_remove_directory": paths(2), "path_unlink_file": paths(2),
		"path_filestat_get": paths(3), "path_filestat_set_times": paths(3), "path_readlink": paths(2),
		"path_link": paths(3, 6), "path_rename": paths(2, 5), "path_symlink": paths(1, 4),
	}
}

// compileWASI compiles the engine's WASI with limits. It disables fd_renumber: the
// engine keeps open files in a slice as long as the largest number, so a number
// chosen by the guest could exceed all memory.
func compileWASI(ctx context.Context, rt wazero.Runtime) (wazero.CompiledModule, error) {
	// This module is only compiled, to get the engine's functions. No guest can import it.
	whole := rt.NewHostModuleBuilder(wasiModule + " without bounds")
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(whole)
	theirs, err := whole.Compile(ctx)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", wasiModule, err)
	}
	b := rt.NewHostModuleBuilder(wasiModule)
	bounds := wasiBounds()
	for name, f := range theirs.ExportedFunctions() {
		do, ok := f.GoFunction().(api.GoModuleFunction)
		if !ok { // the engine's functions have this type
			return nil, fmt.Errorf("compile %s: %s cannot be called", wasiModule, name)
		}
		if name == "fd_renumber" {
			do = api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = errnoNotsup })
		}
		b.NewFunctionBuilder().WithGoModuleFunction(withBounds(recordPath(name, do, bounds[name]), bounds[name]), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	code, err := b.Compile(ctx)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", wasiModule, err)
	}
	return code, nil
}

// withBounds wraps a WASI function: it does not start if the run has ended or if a
// parameter exceeds its limit.
func withBounds(do api.GoModuleFunction, bounds []wasiBound) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		runOf(ctx).checkRunning()
		for _, b := range bounds {
			switch {
			case u32(stack[b.param]) <= b.limit:
			case b.errno != 0:
				stack[0] = b.errno
				return
			default:
				stack[b.param] = uint64(b.limit)
			}
		}
		do.Call(ctx, mod, stack)
	}
}
