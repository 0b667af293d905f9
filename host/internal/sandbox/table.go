package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// body implements a function of the ABI. It reads arguments from the stack and returns
// the function's i32; a result of another type it writes to the stack itself. It is
// called only when the guest may call the function.
type body func(ctx context.Context, r *run, mem api.Memory, stack []uint64) int32

const ( // value types as strings
	valI32 = "\x7f"
	valI64 = "\x7e"
	valF64 = "\x7c"
)

// hostFunction is a function of the ABI and its implementation.
type hostFunction struct {
	abi.Function
	name string
	typ  wasm.FuncType
	body body
}

// hostFunctions returns the functions of abi.Module with their implementations. New
// reports one without a body.
func hostFunctions() []hostFunction {
	bodies := map[string]body{}
	for _, some := range []map[string]body{contextCalls(), grantCalls(), batchCalls(), shardCalls()} {
		maps.Copy(bodies, some)
	}
	var all []hostFunction
	for _, f := range abi.Functions() {
		all = append(all, hostFunction{
			Function: f, name: f.Name, body: bodies[f.Name],
			typ: wasm.FuncType{Params: typesOf(f.Params), Results: typesOf(f.Results)},
		})
	}
	return all
}

// typesOf converts the short form of types in package abi to value types.
func typesOf(short string) string {
	return strings.NewReplacer("i", valI32, "I", valI64, "F", valF64).Replace(short)
}

// call handles a call of a guest: the engine runs it for the import. The stack has the
// arguments, and receives the result. call counts the call, and returns an error code if
// the phase or a missing grant forbids it. It checks this before the arguments.
func (f *hostFunction) call(ctx context.Context, mod api.Module, stack []uint64) {
	r := runOf(ctx)
	r.checkRunning()
	r.calls++
	var code int32
	switch {
	case f.When&r.phase == 0, // not in this phase
		r.assignment != nil && f.When&abi.InShard == 0: // nor in a strategy, even while its module starts
		code = abi.ErrWrongPhase
	case !r.granted(f.Grant):
		code = abi.ErrDenied
		r.logRefusal("a host function was denied: the job lacks the grant", slog.String("function", f.name), slog.String("grant", string(f.Grant)))
	default:
		if code = f.body(ctx, r, mod.Memory(), stack); f.Results != "i" {
			return // the body has written its result, if there is one, and cannot fail
		}
	}
	r.recordCall(f, code)
	switch f.Results {
	case "i":
		stack[0] = api.EncodeI32(code)
	case "I":
		stack[0] = api.EncodeI64(int64(code))
	}
}

// granted reports whether the job has a grant.
func (r *run) granted(g abi.Grant) bool {
	allow := &r.facts.call.Config.Allow
	switch g {
	case abi.GrantNone:
		return true
	case abi.GrantClock:
		return allow.Clock == "real"
	case abi.GrantRandom:
		return allow.Random
	case abi.GrantState:
		return allow.State
	case abi.GrantSecrets:
		return len(allow.Secrets) > 0
	case abi.GrantHTTP:
		return len(allow.HTTP) > 0
	}
	return false
}

// exportABI adds the host functions to a runtime.
func exportABI(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(abi.Module)
	for _, f := range hostFunctions() {
		if f.body == nil {
			return fmt.Errorf("export %s: %s has no body", abi.Module, f.name)
		}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(f.call),
			valueTypesOf(f.typ.Params), valueTypesOf(f.typ.Results)).Export(f.name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("export %s: %w", abi.Module, err)
	}
	return nil
}

func valueTypesOf(s string) []api.ValueType { return []api.ValueType(s) }
