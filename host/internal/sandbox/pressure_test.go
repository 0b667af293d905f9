package sandbox

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

var pressed = flag.Int("pressed", 60, "how many modules with many live values to generate")

// TestEstimatesOfGeneratedModules generates functions that keep more values than there
// are registers across calls, jumps and loops. The estimate must be an upper bound, and
// the machine code must compute the same as the engine's interpreter, so that no stack
// slot was mixed up.
func TestEstimatesOfGeneratedModules(t *testing.T) { //nolint:paralleltest // measures memory of the process
	for seed := range *pressed {
		binary := pressure(uint64(seed))
		if says, is := estimated(t, binary), measured(t, binary); is.code > says.code || is.memory > says.memory {
			t.Errorf("seed %d: %v estimated, in truth %v", seed, says, is)
		}
		if made, right := calculated(t, wazero.NewRuntimeConfigCompiler(), binary), calculated(t, wazero.NewRuntimeConfigInterpreter(), binary); !slices.Equal(made, right) {
			t.Errorf("seed %d: the machine code calculates %x, the interpreter %x", seed, made, right)
		}
	}
}

// calculated runs a generated module with metering.
func calculated(t *testing.T, config wazero.RuntimeConfig, binary []byte) []uint64 {
	t.Helper()
	m, err := decode(binary, defaultModule)
	if err != nil {
		t.Fatal(err)
	}
	out, err := meterModule(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	rt := wazero.NewRuntimeWithConfig(t.Context(), config.WithCoreFeatures(api.CoreFeaturesV2))
	defer rt.Close(t.Context())
	plenty := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = 1 << 40 })
	i64 := []api.ValueType{api.ValueTypeI64}
	if _, err := rt.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().WithGoModuleFunction(plenty, i64, i64).Export(meter.ImportYield).Instantiate(t.Context()); err != nil {
		t.Fatal(err)
	}
	in, err := rt.Instantiate(t.Context(), out.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	got, err := in.ExportedFunction("calculate").Call(t.Context())
	if err != nil {
		return []uint64{0} // the stack overflowed, and its depth differs
	}
	return got
}

// presser generates functions over locals of three kinds, several of each.
type presser struct {
	*rand.Rand
	b      *builder
	params string
	ints   int
	wides  int
	room   int
	depth  int
	loops  int
}

func pressure(seed uint64) []byte {
	p := &presser{Rand: rand.New(rand.NewPCG(seed, 2)), b: &builder{}}
	p.ints, p.wides = 1+p.IntN(40), 1+p.IntN(40)
	p.b.sinks()
	p.b.table = []byte{1, wasm.Funcref, 0, 1}
	p.params = string(slices.Concat(slices.Repeat([]byte{0x7e}, p.ints), slices.Repeat([]byte{wasm.V128}, p.wides)))
	all := getLocals(0, len(p.params))
	leaf := p.b.fn(p.params, p.params, 0, getLocals(1, p.ints-1), getLocal(0), getLocals(p.ints+1, p.wides-1), getLocal(uint32(p.ints)))
	last := leaf
	for range 1 + p.IntN(3) {
		p.room = 20 + p.IntN(200)
		// The last local limits the iterations of loops.
		last = p.b.fn(p.params, p.params, 1, i32(300), setLocal(p.counter()), p.statements(last), all)
	}
	var start []byte
	for i := range p.params {
		if p.params[i] == wasm.V128 {
			start = slices.Concat(start, op(0xfd, 12), slices.Repeat([]byte{byte(i), 3}, 8))
		} else {
			start = slices.Concat(start, i64(int64(p.Uint64()>>8)))
		}
	}
	var sum []byte // of the returned values
	for i := len(p.params) - 1; i >= 0; i-- {
		if p.params[i] == wasm.V128 {
			sum = slices.Concat(sum, op(0xfd, 0x1d, 1), getLocal(0), i64(7), op(0x89, 0x85), setLocal(0))
		} else {
			sum = slices.Concat(sum, getLocal(0), i64(9), op(0x89, 0x85), setLocal(0))
		}
	}
	calculate := p.b.fnOf("", "\x7e", []group{{1, 0x7e}}, start, call(last), sum, getLocal(0))
	return p.b.export("calculate", kindFunc, calculate).job(i32(0))
}

func (p *presser) counter() uint32 { return uint32(len(p.params)) }
func (p *presser) int() uint32     { return uint32(p.IntN(p.ints)) }
func (p *presser) wide() uint32    { return uint32(p.ints + p.IntN(p.wides)) }

// condition generates an i32.
func (p *presser) condition() []byte {
	return slices.Concat(getLocal(p.int()), i64(int64(p.IntN(5))), op(0x7c), i64(int64(1+p.IntN(7))), op(0x83, 0x50))
}

func (p *presser) statements(callee uint32) (code []byte) {
	p.depth++
	defer func() { p.depth-- }()
	for range 1 + p.IntN(6) {
		if p.room--; p.room < 0 {
			break
		}
		code = slices.Concat(code, p.statement(callee))
	}
	return code
}

func (p *presser) statement(callee uint32) []byte {
	switch n := p.IntN(12); {
	case n < 3:
		return slices.Concat(getLocal(p.int()), getLocal(p.int()), op([]byte{0x7c, 0x7d, 0x7e, 0x85, 0x86, 0x89}[p.IntN(6)]), setLocal(p.int()))
	case n < 5:
		kind := [][]byte{op(0xfd, 0x6e), op(0xfd, 0xce, 1), op(0xfd, 0x51), op(0xfd, 0xdc, 1), op(0xfd, 0x0e)}[p.IntN(5)]
		return slices.Concat(getLocal(p.wide()), getLocal(p.wide()), kind, setLocal(p.wide()))
	case n < 6: // through the memory
		return slices.Concat(getLocal(p.int()), i64(0xff8), op(0x83, 0xa7), getLocal(p.int()), op(0x37, 3, 16),
			getLocal(p.int()), i64(0xff8), op(0x83, 0xa7), op(0x29, 3, 16), setLocal(p.int()))
	case n < 7 && p.loops == 0:
		return slices.Concat(getLocals(0, len(p.params)), call(callee), p.shuffled())
	case n < 8 && p.depth > 1: // a jump out of any block but the function
		return slices.Concat(p.condition(), op(0x0d), uleb(uint32(p.IntN(p.depth-1))), nil)
	case n < 9 && p.depth < 5:
		return slices.Concat(p.condition(), op(0x04, 0x40), p.statements(callee), op(0x05), p.statements(callee), op(opEnd))
	case n < 10 && p.depth < 5:
		return slices.Concat(op(0x02, 0x40), p.statements(callee), op(opEnd))
	case n < 11 && p.depth < 5:
		p.loops++
		defer func() { p.loops-- }()
		c := p.counter()
		return slices.Concat(op(0x02, 0x40, 0x03, 0x40), getLocal(c), op(0x45, 0x0d, 1), getLocal(c), i32(1), op(0x6b), setLocal(c),
			p.inLoop(callee), p.condition(), op(0x0d, 0, opEnd, opEnd))
	}
	return slices.Concat(getLocal(p.int()), setLocal(p.int()), getLocal(p.wide()), setLocal(p.wide()))
}

// inLoop generates statements in a block of their own, because a jump to the begin of the
// loop has to pass the counter.
func (p *presser) inLoop(callee uint32) []byte {
	p.depth += 2
	defer func() { p.depth -= 2 }()
	return slices.Concat(op(0x02, 0x40), p.statements(callee), op(opEnd))
}

// shuffled sets all locals from the stack, rotated within each kind.
func (p *presser) shuffled() (code []byte) {
	by := p.IntN(p.wides)
	for i := range p.wides {
		code = append(code, setLocal(uint32(p.ints+(i+by)%p.wides))...)
	}
	by = p.IntN(p.ints)
	for i := range p.ints {
		code = append(code, setLocal(uint32((i+by)%p.ints))...)
	}
	return code
}
