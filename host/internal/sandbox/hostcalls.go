package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	maxErrorText = 8 << 10
	levelTrace   = slog.LevelDebug - 4
)

// guestBug is the panic of a host function that was called with invalid arguments.
// The engine converts it to a trap.
type guestBug string

func (b guestBug) Error() string { return string(b) }

// contextCalls returns the functions that need no grant and concern the run itself.
func contextCalls() map[string]body {
	return map[string]body{
		abi.FuncCtxStr: ctxStr, abi.FuncCtxInt: ctxInt, abi.FuncCtxJSON: ctxJSON, abi.FuncConfigGet: configGet,
		abi.FuncLog: logLine, abi.FuncLogLevel: logLevel,
		abi.FuncResultSet: resultSet, abi.FuncErrorSet: errorSet,
		abi.FuncCancelled: cancelled, abi.FuncProgress: progress,
	}
}

func u32(v uint64) uint32 { return api.DecodeU32(v) }

// guestBytes returns a slice of the guest's memory, not a copy.
func guestBytes(mem api.Memory, ptr, n uint32) []byte {
	b, ok := mem.Read(ptr, n)
	if !ok {
		panic(guestBug(fmt.Sprintf("%d bytes at %#x are outside of the memory", n, ptr)))
	}
	return b
}

// checkBuffer ends the guest if a buffer is outside of its memory. A function that
// has nothing to write calls it, so that a wrong pointer never works by accident.
func checkBuffer(mem api.Memory, ptr, n uint32) { guestBytes(mem, ptr, n) }

// writeValue copies value into the guest's buffer if it fits, and returns its full
// length in any case. The buffer is checked in any case, so that a wrong pointer
// never works by accident.
func writeValue[T string | []byte](mem api.Memory, value T, ptr, room uint32) int32 {
	buf := guestBytes(mem, ptr, room)
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return int32(len(value)) // values of the host are much smaller than 2 GiB
}

// ctxStr implements the guest's ctx_str(field, buf, cap): it writes a text field of the
// run into the buffer, and returns its length or an error code. s has the arguments.
func ctxStr(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	v, code := r.facts.textField(u32(s[0]))
	// Without a value, writeValue still checks the buffer.
	return cmp.Or(code, writeValue(mem, v, u32(s[1]), u32(s[2])))
}

// ctxInt implements the guest's ctx_int(field). Its result is an i64, which it writes to
// the stack itself.
func ctxInt(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	s[0] = uint64(r.facts.numberField(u32(s[0])))
	return 0
}

// ctxJSON implements the guest's ctx_json(buf, cap): it writes the context of the run as
// JSON. A strategy gets none, because the context says when and where the guest runs.
func ctxJSON(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	if r.facts.pure {
		checkBuffer(mem, u32(s[0]), u32(s[1]))
		return abi.ErrNotFound
	}
	return writeValue(mem, r.facts.contextJSON(), u32(s[0]), u32(s[1]))
}

// configGet implements the guest's config_get(key, klen, buf, cap): it writes the value of
// one of the job's own settings.
func configGet(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	v, ok := r.facts.call.Config.Settings[string(guestBytes(mem, u32(s[0]), u32(s[1])))]
	n := writeValue(mem, v, u32(s[2]), u32(s[3]))
	if !ok {
		n = abi.ErrNotFound
	}
	return n
}

// logLine implements the guest's log(level, msg, len). It copies only as much of the text
// as the log may show.
func logLine(ctx context.Context, r *run, mem api.Memory, s []uint64) int32 {
	level := u32(s[0])
	if level > abi.LevelError {
		panic(guestBug(fmt.Sprintf("there is no log level %d", level)))
	}
	text := guestBytes(mem, u32(s[1]), u32(s[2]))
	r.log.write(ctx, slogLevel(level), string(text[:min(len(text), r.log.room())]))
	return 0
}

// slogLevel converts a valid log level of the ABI.
func slogLevel(level uint32) slog.Level {
	return [...]slog.Level{levelTrace, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}[level]
}

// logLevel implements the guest's log_level(): it returns the lowest level that is logged,
// so that the guest need not build lines that are dropped.
func logLevel(ctx context.Context, r *run, _ api.Memory, s []uint64) int32 {
	if r.facts.pure { // the server's log level must not influence a strategy
		return abi.LevelTrace
	}
	for level := uint32(abi.LevelTrace); level <= abi.LevelError; level++ {
		if r.log.log != nil && r.log.log.Enabled(ctx, slogLevel(level)) {
			return int32(level)
		}
	}
	return abi.LevelNone
}

// resultSet implements the guest's result_set(ptr, len): the bytes become the result of
// the run, in place of an earlier one.
func resultSet(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	b := guestBytes(mem, u32(s[0]), u32(s[1]))
	if int64(len(b)) > r.resultLimit {
		return r.exceeds("limits.result is %d bytes", r.resultLimit)
	}
	if !r.holdResult(len(b)) {
		return abi.ErrLimit
	}
	r.result = append([]byte{}, b...)
	return 0
}

// errorSet implements the guest's error_set(ptr, len): the text becomes the reason that is
// recorded with the run, with secrets hidden.
func errorSet(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	b := guestBytes(mem, u32(s[0]), u32(s[1]))
	secrets := r.log.secrets
	// One byte more than the maximum shows that the text was cut; the slack lets a secret be
	// found that lies across the cut.
	text := secrets.hide(string(b[:min(len(b), maxErrorText+1+secrets.slack())]), 0, maxErrorText+1)
	r.message = readableLines(text, maxErrorText)
	return 0
}

// cancelled implements the guest's cancelled(): it returns why the guest should stop, or
// 0.
func cancelled(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	return int32(r.stopReason())
}

// stopReason returns the reason for the guest to stop, or job.Continue.
func (r *run) stopReason() job.StopReason {
	if r.overdue() {
		return job.StopDeadline
	}
	if r.facts.call.Why != nil {
		return r.facts.call.Why()
	}
	return job.Continue
}

// progress implements the guest's progress(done, total): how far the run is, in units of
// the guest.
func progress(ctx context.Context, r *run, _ api.Memory, s []uint64) int32 {
	r.done, r.total = int64(s[0]), int64(s[1])
	// One line per second is enough for an observer.
	if now := time.Now(); r.log.log != nil && now.Sub(r.progressLogged) >= time.Second {
		r.progressLogged = now
		r.log.logLimited(ctx, slog.LevelDebug, "guest progress", slog.Int64("done", r.done), slog.Int64("total", r.total))
	}
	return 0
}
