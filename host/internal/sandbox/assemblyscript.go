package sandbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// envModule is the module from which AssemblyScript imports its host functions.
const envModule = "env"

// maxAssembly is the maximum number of bytes read from an AssemblyScript string.
const maxAssembly = 2 * maxErrorText

// assemblyFunction is a function of envModule.
type assemblyFunction struct {
	name string
	typ  wasm.FuncType
	body func(ctx context.Context, r *run, mem api.Memory, stack []uint64)
}

// assemblyFunctions returns the functions that the AssemblyScript compiler imports
// for its standard library.
func assemblyFunctions() []assemblyFunction {
	all := []assemblyFunction{
		{"abort", wasm.FuncType{Params: valI32 + valI32 + valI32 + valI32}, assemblyAbort},
		{"trace", wasm.FuncType{Params: valI32 + valI32 + valF64 + valF64 + valF64 + valF64 + valF64}, assemblyTrace},
		{"seed", wasm.FuncType{Results: valF64}, assemblySeed},
	}
	for name, level := range map[string]slog.Level{
		"console.debug": slog.LevelDebug, "console.log": slog.LevelInfo, "console.info": slog.LevelInfo,
		"console.warn": slog.LevelWarn, "console.error": slog.LevelError,
	} {
		all = append(all, assemblyFunction{name, wasm.FuncType{Params: valI32}, assemblyLog(level)})
	}
	return all
}

// exportAssembly adds the functions of envModule to a runtime.
func exportAssembly(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(envModule)
	for _, f := range assemblyFunctions() {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
			r := runOf(ctx)
			r.checkRunning()
			r.calls++
			f.body(ctx, r, mod.Memory(), stack)
		}), valueTypesOf(f.typ.Params), valueTypesOf(f.typ.Results)).Export(f.name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("export %s: %w", envModule, err)
	}
	return nil
}

// assemblyText reads an AssemblyScript string: UTF-16, with its length in bytes
// before it. A null pointer is the empty string.
func assemblyText(r *run, mem api.Memory, ptr uint64) string {
	at := u32(ptr)
	if at == 0 {
		return ""
	}
	if at < 4 {
		panic(guestBug(fmt.Sprintf("there is no string at %#x", at)))
	}
	n := binary.LittleEndian.Uint32(guestBytes(mem, at-4, 4))
	b := guestBytes(mem, at, n)
	secrets := r.log.secrets
	cut := len(b) > maxAssembly
	b = b[:min(len(b), maxAssembly+2*secrets.slack())]
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	text := string(utf16.Decode(units))
	hi := len(text)
	if cut { // the end may be a part of a secret
		hi -= secrets.slack()
	}
	return secrets.hide(text, 0, hi)
}

// assemblyAbort ends the run after an exception or a failed assertion.
func assemblyAbort(_ context.Context, r *run, mem api.Memory, s []uint64) {
	text, file := assemblyText(r, mem, s[0]), assemblyText(r, mem, s[1])
	panic(guestBug(fmt.Sprintf("abort: %s at %s:%d:%d", text, file, u32(s[2]), u32(s[3]))))
}

// assemblyTrace implements trace(text, n, a0…a4), which logs a text with up to five
// numbers.
func assemblyTrace(ctx context.Context, r *run, mem api.Memory, s []uint64) {
	text := assemblyText(r, mem, s[0])
	var numbers []string
	for _, v := range s[2:][:min(u32(s[1]), 5)] {
		numbers = append(numbers, strconv.FormatFloat(api.DecodeF64(v), 'g', -1, 64))
	}
	if len(numbers) > 0 {
		text += " " + strings.Join(numbers, ", ")
	}
	r.log.write(ctx, slog.LevelInfo, text)
}

// assemblyLog implements the functions of console, each of which logs a text at its level.
func assemblyLog(level slog.Level) func(context.Context, *run, api.Memory, []uint64) {
	return func(ctx context.Context, r *run, mem api.Memory, s []uint64) {
		r.log.write(ctx, level, assemblyText(r, mem, s[0]))
	}
}

// assemblySeed returns a seed for the guest's random numbers.
func assemblySeed(_ context.Context, r *run, _ api.Memory, s []uint64) {
	var seed [8]byte
	if _, err := (randomSource{r.in}).Read(seed[:]); err != nil { // neither source fails
		panic(guestBug("no random numbers are available"))
	}
	// 53 bits, which a float64 holds exactly.
	s[0] = math.Float64bits(float64(binary.LittleEndian.Uint64(seed[:]) >> 11))
}
