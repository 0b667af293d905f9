package sandbox

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// assemblyData encodes a text as AssemblyScript does; the text begins at byte 4.
func assemblyData(s string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return string(binary.LittleEndian.AppendUint32(nil, uint32(len(b)))) + string(b)
}

func (b *builder) assembly(name string) uint32 {
	for _, f := range assemblyFunctions() {
		if f.name == name {
			return b.fromHost(envModule, name, f.typ.Params, f.typ.Results)
		}
	}
	panic(name)
}

func TestAssemblyAbort(t *testing.T) {
	t.Parallel()
	abort := func(message, file int64) job.Outcome {
		b := (&builder{}).putData(16, assemblyData("it bröke \U0001f600")).putData(100, assemblyData("a.ts"))
		b.putData(200, "\xff\xff\xff\xff")
		f := b.assembly("abort")
		return runOnce(t, b.job(invokes(f, message, file, 12, 34), i32(0)), job.Call{})
	}
	expect(t, abort(20, 104), job.Failure, "abort: it bröke \U0001f600 at a.ts:12:34")
	expect(t, abort(0, 0), job.Failure, "abort:  at :12:34")
	expect(t, abort(204, 0), job.Failure, "outside of the memory")
	expect(t, abort(3, 0), job.Failure, "no string at 0x3")
	expect(t, abort(-1, 0), job.Failure, "outside of the memory")
}

func TestAssemblyLogs(t *testing.T) {
	t.Parallel()
	b := (&builder{}).putData(16, assemblyData("words"))
	trace, warn := b.assembly("trace"), b.assembly("console.warn")
	f64 := func(v float64) []byte { return binary.LittleEndian.AppendUint64([]byte{0x44}, math.Float64bits(v)) }
	numbers := slices.Concat(f64(1.5), f64(2), f64(0), f64(0), f64(0))
	wasm := b.job(
		i32(20), i32(2), numbers, call(trace),
		i32(20), i32(-1), numbers, call(trace),
		i32(20), call(warn), i32(0))
	var log strings.Builder
	out := runOnce(t, wasm, job.Call{Log: textLog(&log)})
	expect(t, out, job.OK, "")
	for _, want := range []string{`level=INFO msg="words 1.5, 2" `, `msg="words 1.5, 2, 0, 0, 0"`, `level=WARN msg=words`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in\n%s", want, log.String())
		}
	}
	if out.HostCalls != 3 {
		t.Errorf("%d host calls", out.HostCalls)
	}
}

func TestAssemblySeed(t *testing.T) {
	t.Parallel()
	b := &builder{}
	seed, result := b.assembly("seed"), b.abi(abi.FuncResultSet)
	wasm := b.job(i32(0), call(seed), op(0x39, 3, 0), invokes(result, 0, 8)) // f64.store
	e := newEngine(t)
	m := load(t, e, wasm)
	of := func(run string) string { return string(e.Run(t.Context(), m, job.Call{RunID: run}).Result) }
	if a := of("a"); a != of("a") || a == of("b") || len(a) != 8 {
		t.Errorf("%x, %x, %x", a, of("a"), of("b"))
	}
}
