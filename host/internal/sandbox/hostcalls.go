package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	defaultResult = 1 << 20
	maxErrorText  = 8 << 10
	levelTrace    = slog.LevelDebug - 4
)

// guestBug is the panic of a host function that was called in a way that no
// sound guest would; the engine turns it into a trap.
type guestBug string

func (b guestBug) Error() string { return string(b) }

// hostFunction is one function of the ABI. Its body finds the arguments on the
// stack and leaves the result there.
type hostFunction struct {
	name string
	typ  funcType
	body func(ctx context.Context, r *run, mem api.Memory, stack []uint64)
}

// hostFunctions are the functions of abi.Module that this release serves.
func hostFunctions() []hostFunction {
	i32s := func(n int) string { return (valI32 + valI32 + valI32 + valI32)[:n] }
	return []hostFunction{
		{abi.FuncCtxStr, funcType{i32s(3), valI32}, ctxStr},
		{abi.FuncCtxInt, funcType{i32s(1), valI64}, ctxInt},
		{abi.FuncCtxJSON, funcType{i32s(2), valI32}, ctxJSON},
		{abi.FuncConfigGet, funcType{i32s(4), valI32}, configGet},
		{abi.FuncLog, funcType{i32s(3), ""}, logLine},
		{abi.FuncLogLevel, funcType{"", valI32}, logLevel},
		{abi.FuncResultSet, funcType{i32s(2), valI32}, resultSet},
		{abi.FuncErrorSet, funcType{i32s(2), valI32}, errorSet},
		{abi.FuncCancelled, funcType{"", valI32}, cancelled},
		{abi.FuncProgress, funcType{valI64 + valI64, ""}, progress},
	}
}

// offerABI puts the host functions into a runtime.
func offerABI(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(abi.Module)
	for _, f := range hostFunctions() {
		b.NewFunctionBuilder().WithGoModuleFunction(
			api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
				r := runOf(ctx)
				r.calls++
				f.body(ctx, r, mod.Memory(), stack)
			}), valueTypesOf(f.typ.params), valueTypesOf(f.typ.results)).Export(f.name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("offer %s: %w", abi.Module, err)
	}
	return nil
}

func valueTypesOf(s string) []api.ValueType { return []api.ValueType(s) }

func u32(v uint64) uint32 { return api.DecodeU32(v) }

func answer(stack []uint64, code int32) { stack[0] = api.EncodeI32(code) }

// bytesAt is the guest's memory itself, not a copy.
func bytesAt(mem api.Memory, ptr, n uint32) []byte {
	b, ok := mem.Read(ptr, n)
	if !ok {
		panic(guestBug(fmt.Sprintf("%d bytes at %#x lie outside of the memory", n, ptr)))
	}
	return b
}

// give follows the rule for reads: the full length is answered, and the bytes
// are written only if the guest's buffer holds them all. The buffer is checked
// either way, so that a wrong pointer does not work by luck.
func give[T string | []byte](mem api.Memory, value T, ptr, room uint32) int32 {
	buf := bytesAt(mem, ptr, room)
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return int32(len(value)) // values of the host are far below 2 GiB
}

func ctxStr(_ context.Context, r *run, mem api.Memory, s []uint64) {
	v, code := r.facts.text(u32(s[0]))
	n := give(mem, v, u32(s[1]), u32(s[2]))
	if code < 0 {
		n = code
	}
	answer(s, n)
}

func ctxInt(_ context.Context, r *run, _ api.Memory, s []uint64) {
	s[0] = uint64(r.facts.number(u32(s[0])))
}

func ctxJSON(_ context.Context, r *run, mem api.Memory, s []uint64) {
	answer(s, give(mem, r.facts.document(), u32(s[0]), u32(s[1])))
}

func configGet(_ context.Context, r *run, mem api.Memory, s []uint64) {
	v, ok := r.facts.call.Config.Settings[string(bytesAt(mem, u32(s[0]), u32(s[1])))]
	n := give(mem, v, u32(s[2]), u32(s[3]))
	if !ok {
		n = abi.ErrNotFound
	}
	answer(s, n)
}

func logLine(ctx context.Context, r *run, mem api.Memory, s []uint64) {
	level := u32(s[0])
	if level > abi.LevelError {
		panic(guestBug(fmt.Sprintf("there is no log level %d", level)))
	}
	// One byte more than is kept shows journal that the line was cut.
	text := bytesAt(mem, u32(s[1]), u32(s[2]))
	r.journal.write(ctx, slogLevel(level), string(text[:min(len(text), r.journal.line+1)]))
}

func slogLevel(level uint32) slog.Level {
	return [...]slog.Level{levelTrace, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}[level]
}

func logLevel(ctx context.Context, r *run, _ api.Memory, s []uint64) {
	for level := uint32(abi.LevelTrace); level <= abi.LevelError; level++ {
		if r.journal.log != nil && r.journal.log.Enabled(ctx, slogLevel(level)) {
			answer(s, int32(level))
			return
		}
	}
	answer(s, abi.LevelNone)
}

func resultSet(_ context.Context, r *run, mem api.Memory, s []uint64) {
	b := bytesAt(mem, u32(s[0]), u32(s[1]))
	if int64(len(b)) > r.resultLimit {
		answer(s, abi.ErrLimit)
		return
	}
	r.result = append([]byte{}, b...)
	answer(s, 0)
}

func errorSet(_ context.Context, r *run, mem api.Memory, s []uint64) {
	b := bytesAt(mem, u32(s[0]), u32(s[1]))
	r.message = clip(escape(string(b[:min(len(b), maxErrorText)]), true), maxErrorText)
	answer(s, 0)
}

func cancelled(_ context.Context, r *run, _ api.Memory, s []uint64) {
	answer(s, int32(r.why()))
}

// why is the reason for the guest to stop, once there is one.
func (r *run) why() job.StopReason {
	if r.overdue() {
		return job.StopDeadline
	}
	if r.facts.call.Why != nil {
		return r.facts.call.Why()
	}
	return job.Continue
}

func progress(ctx context.Context, r *run, _ api.Memory, s []uint64) {
	r.done, r.total = int64(s[0]), int64(s[1])
	// It is for whoever looks on, so one line a second is plenty.
	if now := time.Now(); r.journal.log != nil && now.Sub(r.told) >= time.Second {
		r.told = now
		r.journal.log.DebugContext(ctx, "guest progress", slog.Int64("done", r.done), slog.Int64("total", r.total))
	}
}
