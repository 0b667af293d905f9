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

// What one call of WASI may ask for. Without bounds it could keep the host
// busy, and its memory full, in proportion to the memory of the guest.
const (
	maxBuffers = 1024 // to read into or to write, as operating systems have it
	maxWaits   = 4096 // subscriptions
)

// wasiBound is where such a call says how much it asks for.
type wasiBound struct {
	param int
	most  uint32
	errno uint64 // the answer to more; 0: as much as is allowed is done
}

// wasiBounds are those of each function.
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

// compileWASI is the engine's WASI within bounds, and but for one function: the
// engine keeps open files in a list as long as the largest number, and to give
// one a number of the guest's choice could make that list larger than the machine.
func compileWASI(ctx context.Context, rt wazero.Runtime) (wazero.CompiledModule, error) {
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
		if !ok { // never for what the engine made
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

// withBounds is a function of WASI that does not begin when the run has ended, nor
// with more than it may do.
func withBounds(do api.GoModuleFunction, bounds []wasiBound) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		runOf(ctx).checkRunning()
		for _, b := range bounds {
			switch {
			case u32(stack[b.param]) <= b.most:
			case b.errno != 0:
				stack[0] = b.errno
				return
			default:
				stack[b.param] = uint64(b.most)
			}
		}
		do.Call(ctx, mod, stack)
	}
}
