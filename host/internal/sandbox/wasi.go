package sandbox

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// errnoNotsup is what WASI calls an operation that is not offered.
const errnoNotsup = 58

// compileWASI is the engine's WASI, but for one function: the engine keeps open
// files in a list as long as the largest number, and to give one a number of
// the guest's choice could make that list larger than the machine.
func compileWASI(ctx context.Context, rt wazero.Runtime) (wazero.CompiledModule, error) {
	b := rt.NewHostModuleBuilder(wasiModule)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	refuse := func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = errnoNotsup }
	b.NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(refuse), valueTypesOf(valI32+valI32), valueTypesOf(valI32)).
		Export("fd_renumber")
	code, err := b.Compile(ctx)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", wasiModule, err)
	}
	return code, nil
}
