package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"maps"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// body is what a function of the ABI does. It finds the arguments on the stack
// and leaves the result there. It is only called when the guest may call it.
type body func(ctx context.Context, r *run, mem api.Memory, stack []uint64)

const ( // types of values, as texts of one
	valI32 = "\x7f"
	valI64 = "\x7e"
	valF64 = "\x7c"
)

// hostFunction is one function of the ABI as a guest gets it.
type hostFunction struct {
	abi.Function
	name string
	typ  wasm.FuncType
	body body
}

// hostFunctions are the functions of abi.Module: what the contract says of
// each, and what this host does. One without a body is a fault that New tells.
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

// typesOf turns the short form of the ABI's table into that of binaries.
func typesOf(short string) string {
	var b []byte
	for _, c := range short {
		switch c {
		case 'i':
			b = append(b, valI32...)
		case 'I':
			b = append(b, valI64...)
		case 'F':
			b = append(b, valF64...)
		}
	}
	return string(b)
}

// call serves one call of a guest: counted, and answered with an error code if
// it comes at the wrong time or without the grant. Either is looked at before
// the arguments are.
func (f *hostFunction) call(ctx context.Context, mod api.Module, stack []uint64) {
	r := runOf(ctx)
	r.checkRunning()
	r.calls++
	var code int32
	switch {
	case f.When&r.phase == 0, r.assignment != nil && f.When&abi.InShard == 0: // a strategy also starts as one
		code = abi.ErrWrongPhase
	case !r.granted(f.Grant):
		code = abi.ErrDenied
		r.logRefusal("the job is not granted what the guest asks for", slog.String("function", f.name), slog.String("grant", string(f.Grant)))
	default:
		f.body(ctx, r, mod.Memory(), stack)
		return
	}
	switch f.Results {
	case "i":
		setResult(stack, code)
	case "I":
		stack[0] = api.EncodeI64(int64(code))
	}
}

// granted tells whether the job has what a function needs.
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

// exportABI puts the host functions into a runtime.
func exportABI(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(abi.Module)
	for _, f := range hostFunctions() {
		if f.body == nil {
			return fmt.Errorf("offer %s: %s does nothing", abi.Module, f.name)
		}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(f.call),
			valueTypesOf(f.typ.Params), valueTypesOf(f.typ.Results)).Export(f.name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("offer %s: %w", abi.Module, err)
	}
	return nil
}

func valueTypesOf(s string) []api.ValueType { return []api.ValueType(s) }
