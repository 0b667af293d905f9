package meter

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// call is a call of an export, in a new instance or the one before.
type call struct {
	name string
	args []uint64
}

// outcome is everything that a guest could observe of a run, and its fuel.
type outcome struct {
	seen []string
	fuel int64
}

// lab runs original and rewritten modules in the same runtime.
type lab struct {
	t      testing.TB
	rt     wazero.Runtime
	meters *meters
}

func newLab(t testing.TB) *lab {
	t.Helper()
	rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig().WithMemoryLimitPages(64))
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	l := &lab{t: t, rt: rt, meters: newMeters(t, rt, math.MaxInt32)}
	// Imports for tests: a function that doubles and adds one.
	_, err := rt.NewHostModuleBuilder("env").NewFunctionBuilder().
		WithFunc(func(n uint32) uint32 { return 2*n + 1 }).Export("odd").Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run instantiates a compiled module and makes the calls one after another.
func (l *lab) run(c wazero.CompiledModule, slice int64, calls []call) outcome {
	ctx := l.t.Context()
	l.meters.slice = slice
	clear(l.meters.tally)
	var o outcome
	m, err := l.rt.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions(ExportStart))
	if err != nil {
		return outcome{seen: []string{"instantiate: " + trap(err)}}
	}
	defer m.Close(ctx)
	for _, do := range calls {
		got, err := m.ExportedFunction(do.name).Call(ctx, do.args...)
		o.seen = append(o.seen, fmt.Sprintf("%s %#x: %#x %s", do.name, do.args, got, trap(err)))
	}
	if mem := m.Memory(); mem != nil {
		all, _ := mem.Read(0, mem.Size())
		h := fnv.New64a()
		h.Write(all)
		o.seen = append(o.seen, fmt.Sprintf("memory of %d: %x", len(all), h.Sum64()))
	}
	for i := range 4 {
		if g := m.ExportedGlobal(fmt.Sprintf("g%d", i)); g != nil {
			o.seen = append(o.seen, fmt.Sprintf("g%d: %#x", i, g.Get()))
		}
	}
	if m.ExportedGlobal(ExportLeft) != nil {
		o.fuel = l.meters.used(m)
	}
	return o
}

// trap returns the first line of an error, without its position.
func trap(err error) string {
	if err == nil {
		return ""
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	if i := strings.LastIndex(first, "wasm error: "); i >= 0 {
		return first[i:]
	}
	return first
}

func (l *lab) compile(wasm []byte) wazero.CompiledModule {
	l.t.Helper()
	c, err := l.rt.CompileModule(l.t.Context(), wasm)
	if err != nil {
		l.t.Fatalf("compile: %v\n%x", err, wasm)
	}
	return c
}

func (l *lab) rewritten(b []byte, o Options, how mode) wazero.CompiledModule {
	l.t.Helper()
	m, err := wasm.Decode(b)
	if err != nil {
		l.t.Fatalf("decode: %v\n%x", err, b)
	}
	res, err := rewrite(m, o, how)
	if err != nil {
		l.t.Fatalf("rewrite: %v\n%x", err, b)
	}
	return l.compile(res.Wasm)
}

// same runs a module in every way, checks that the outcomes agree, and returns the
// outcome with its fuel.
func (l *lab) same(wasm []byte, calls ...call) outcome {
	l.t.Helper()
	ctx := l.t.Context()
	plain := l.compile(wasm)
	defer plain.Close(ctx)
	want := l.run(plain, 0, calls)
	trapped := slices.ContainsFunc(want.seen, func(s string) bool { return strings.Contains(s, "error") })

	for _, how := range []mode{separate, perInstruction, gathered} {
		c := l.rewritten(wasm, Options{}, how)
		defer c.Close(ctx)
		fuel := int64(0)
		for i, slice := range []int64{1_000_000, 1, 7, 1000} {
			got := l.run(c, slice, calls)
			switch {
			case !slices.Equal(got.seen, want.seen):
				l.t.Fatalf("mode %d, slice %d: not the same:\n got %q\nwant %q\n%x", how, slice, got.seen, want.seen, wasm)
			case i > 0 && got.fuel != fuel:
				l.t.Fatalf("mode %d, slice %d: fuel %d, with large ones %d\n%x", how, slice, got.fuel, fuel, wasm)
			}
			fuel = got.fuel
			if how == perInstruction {
				break
			}
		}
		switch {
		case how == separate:
			want.fuel = fuel
		case how == perInstruction && (fuel > want.fuel || fuel < want.fuel && !trapped):
			l.t.Fatalf("fuel %d, but each instruction by itself pays %d\n%x", want.fuel, fuel, wasm)
		case how == gathered && (fuel < want.fuel || fuel > 2*want.fuel):
			l.t.Fatalf("fuel %d, but each segment by itself pays %d\n%x", fuel, want.fuel, wasm)
		case how == gathered:
			want.fuel = fuel
		}
	}
	return want
}
