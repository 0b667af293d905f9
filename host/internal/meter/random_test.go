package meter

import (
	"encoding/binary"
	"flag"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

var modules = flag.Int("modules", 800, "how many modules to generate")

// TestRandom compares generated modules with their rewritten forms. For a thorough run
// use `go test -run Random -modules 20000`.
func TestRandom(t *testing.T) {
	t.Parallel()
	const batch = 250 // a runtime keeps some memory for every module
	for first := 0; first < *modules; first += batch {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			ends := map[string]int{}
			defer func() { t.Logf("ends: %v", ends) }()
			for seed := first; seed < min(first+batch, *modules); seed++ {
				wasm, calls := generate(uint64(seed))
				o := l.same(wasm, calls...)
				for _, s := range o.seen {
					if _, why, ok := strings.Cut(s, "wasm error: "); ok {
						ends[why]++
					} else if o.fuel > 1000 {
						ends["more than 1000 of fuel"]++
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// generate makes a valid module and calls of its exports. It always terminates, because
// loops and functions count down a global.
func generate(seed uint64) ([]byte, []call) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), b: &build{}}
	g.module()
	var do []call
	for range 1 + g.IntN(3) {
		f := g.b.funcs[g.IntN(len(g.b.funcs))]
		params, _, _ := strings.Cut(f.typ, ">")
		c := call{name: f.name}
		for i := range len(params) {
			c.args = append(c.args, g.argument(params[i]))
		}
		do = append(do, c)
	}
	return g.b.bytes(), do
}

type generator struct {
	*rand.Rand
	b      *build
	locals string   // of the current function, parameters first
	labels []string // operands of a jump, innermost last
	room   int      // approximate number of instructions that may still be generated
}

// Locals that keep a value while it is inspected, and the globals.
const (
	spare   = "fdv"
	globals = "ildv"
)

func (g *generator) pick(s string) byte { return s[g.IntN(len(s))] }
func (g *generator) one(n int) bool     { return g.IntN(n) == 0 }
func (g *generator) some(s string, n int) string {
	out := make([]byte, g.IntN(n+1))
	for i := range out {
		out[i] = g.pick(s)
	}
	return string(out)
}

func (g *generator) argument(t byte) uint64 {
	switch t {
	case 'i':
		return uint64(uint32(g.number()))
	case 'f':
		return uint64(math.Float32bits(float32(g.NormFloat64() * 1000)))
	case 'd':
		return math.Float64bits(g.NormFloat64() * 1e6)
	}
	return uint64(g.number())
}

func (g *generator) number() int64 {
	switch g.IntN(4) {
	case 0:
		return int64(g.IntN(20)) - 4
	case 1:
		return int64(g.IntN(1 << 18))
	case 2:
		return []int64{math.MinInt32, math.MaxInt32, math.MinInt64, math.MaxInt64, math.MaxUint32, 0x8000}[g.IntN(6)]
	}
	return int64(g.Uint64())
}

func (g *generator) module() {
	b := g.b
	b.memory = []byte{1, 2, 5}
	b.tables = [][]byte{cat(0x70, 1, u(20), u(30)), cat(0x70, 0, u(10))}
	b.globals = [][]byte{
		cat(0x7f, 1, i32c(500+g.IntN(2000)), 0x0b), cat(0x7e, 1, i64c(g.IntN(99)), 0x0b),
		cat(0x7c, 1, 0x44, make([]byte, 8), 0x0b), cat(0x7b, 1, 0xfd, 12, make([]byte, 16), 0x0b),
	}
	b.exports = [][]byte{cat(text("memory"), 2, 0), cat(text("g0"), 3, 0), cat(text("g1"), 3, 1), cat(text("g2"), 3, 2)}
	b.imports = [][]byte{cat(text("env"), text("odd"), 0, u(b.typ("i>i")))}
	data := make([]byte, 100)
	for i := range data {
		data[i] = byte(g.Uint32())
	}
	b.datas = [][]byte{cat(1, u(len(data)), data), cat(0, i32c(40), 0x0b, u(50), data[:50])}
	n := 1 + g.IntN(5)
	for i := range n {
		typ := g.some("iilfd", 3) + ">" + g.some("iilfd", 2)
		b.funcs = append(b.funcs, fn{name: string(rune('A' + i)), typ: typ})
		b.typ(typ)
	}
	refs := make([]byte, 12)
	for i := range refs {
		refs[i] = byte(1 + g.IntN(n))
	}
	b.elems = [][]byte{cat(0, i32c(0), 0x0b, u(len(refs)), refs), cat(1, 0, u(6), refs[:6])}
	if g.one(4) {
		b.funcs = append(b.funcs, fn{name: "S", typ: ">"})
		b.start = len(b.funcs)
	}
	for i := range b.funcs {
		g.function(&b.funcs[i])
	}
}

func (g *generator) function(f *fn) {
	params, results, _ := strings.Cut(f.typ, ">")
	f.locals = g.some("ilfdv", 4) + "il" + spare
	g.locals = params + f.locals
	g.labels = []string{results}
	g.room = 20 + g.IntN(120)
	f.code = cat(g.gas(), 0x23, 0, i32c(0), 0x48, 0x04, 0x40, g.constants(results), 0x0f, 0x0b, g.statements(3))
	for i := range len(results) {
		f.code = cat(f.code, g.value(results[i], 3))
	}
}

func (g *generator) gas() []byte { return cat(0x23, 0, i32c(1), 0x6b, 0x24, 0) }

func (g *generator) constants(types string) (out []byte) {
	for i := range len(types) {
		out = cat(out, g.constant(types[i]))
	}
	return out
}

func (g *generator) constant(t byte) []byte {
	switch t {
	case 'i':
		return cat(0x41, sl(int64(int32(g.number()))))
	case 'l':
		return cat(0x42, sl(g.number()))
	case 'f':
		return cat(0x43, binary.LittleEndian.AppendUint32(nil, uint32(g.argument('f'))))
	case 'd':
		return cat(0x44, binary.LittleEndian.AppendUint64(nil, g.argument('d')))
	}
	return cat(0xfd, 12, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, g.Uint64()), uint64(g.number())))
}

// local returns a local of a type other than the ones above.
func (g *generator) local(t byte) int {
	var fit []int
	for i := range len(g.locals) - len(spare) {
		if g.locals[i] == t {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return -1
	}
	return fit[g.IntN(len(fit))]
}

func (g *generator) values(types string, depth int) (out []byte) {
	for i := range len(types) {
		out = cat(out, g.value(types[i], depth))
	}
	return out
}

// value generates code that produces one value.
func (g *generator) value(t byte, depth int) []byte {
	g.room--
	if depth <= 0 || g.room < 0 || g.one(5) {
		if i := g.local(t); i >= 0 && !g.one(3) {
			return lget(i)
		}
		return g.constant(t)
	}
	switch g.IntN(12) {
	case 0:
		return g.load(t, depth)
	case 1:
		return cat(g.value(t, depth-1), g.value(t, depth-1), g.value('i', depth-1), 0x1c, 1, typeCodes[t])
	case 2:
		if i := strings.IndexByte(globals, t); i >= 0 {
			return cat(0x23, i)
		}
	case 3:
		if i := g.local(t); i >= 0 {
			return cat(g.value(t, depth-1), ltee(i))
		}
	case 4: // an if or block that produces a value, perhaps by a jump
		condition := g.value('i', depth-1)
		g.labels = append(g.labels, string(t))
		defer func() { g.labels = g.labels[:len(g.labels)-1] }()
		if g.one(2) {
			return cat(condition, 0x04, typeCodes[t], g.statements(1), g.value(t, depth-1), 0x05, g.statements(1), g.value(t, depth-1), 0x0b)
		}
		return cat(0x02, typeCodes[t], g.statements(1), g.value(t, depth-1), g.value('i', depth-1), 0x0d, 0, g.statements(1), 0x0b)
	case 5:
		if t == 'i' {
			return g.pickBytes(cat(0x3f, 0), cat(0xfc, 16, 0), cat(g.value('i', 1), 0x10, 0),
				cat(g.value('i', 0), i32c(3), 0x71, 0x40, 0), cat(0xd2, 1, g.value('i', 0), 0xfc, 15, 0), cat(g.index(25), 0x25, 0, 0xd1))
		}
	}
	ops := operations[t]
	o := ops[g.IntN(len(ops))]
	code := cat(g.values(o.takes, depth-1), o.code)
	for range o.lanes {
		code = append(code, byte(g.IntN(o.lane)))
	}
	return cat(code, g.clean(o.nan))
}

func (g *generator) pickBytes(all ...[]byte) []byte { return all[g.IntN(len(all))] }

// clean replaces NaN, whose bits may vary.
func (g *generator) clean(nan byte) []byte {
	at := len(g.locals) - len(spare)
	switch nan {
	case 'f':
		return cat(ltee(at), 0x43, "\x00\x00\xc0\x3f", lget(at), lget(at), 0x5b, 0x1b)
	case 'd':
		return cat(ltee(at+1), 0x44, "\x00\x00\x00\x00\x00\x00\xf8\x3f", lget(at+1), lget(at+1), 0x61, 0x1b)
	case 'F':
		return cat(ltee(at+2), lget(at+2), lget(at+2), 0xfd, 0x41, 0xfd, 0x4e)
	case 'D':
		return cat(ltee(at+2), lget(at+2), lget(at+2), 0xfd, 0x47, 0xfd, 0x4e)
	}
	return nil
}

// address generates an address, usually inside the memory.
func (g *generator) address() []byte {
	if g.one(12) {
		return g.value('i', 1)
	}
	return cat(g.value('i', 1), i32c(0xffff), 0x71)
}

func (g *generator) index(n int) []byte { return cat(g.value('i', 1), i32c(n), 0x70) }

func (g *generator) load(t byte, depth int) []byte {
	at := cat(g.address())
	switch t {
	case 'i':
		op := g.pick("\x28\x2c\x2d\x2e\x2f")
		return cat(at, op, 0, u(g.IntN(300)))
	case 'l':
		op := g.pick("\x29\x30\x31\x32\x33\x34\x35")
		return cat(at, op, 0, u(g.IntN(300)))
	case 'f':
		return cat(at, 0x2a, g.IntN(3), u(g.IntN(300)), g.clean('f'))
	case 'd':
		return cat(at, 0x2b, g.IntN(4), u(g.IntN(300)), g.clean('d'))
	}
	if g.one(2) {
		lane := 0x54 + g.IntN(4)
		return cat(at, g.value('v', depth-1), 0xfd, lane, 0, u(g.IntN(300)), g.IntN(16>>(lane-0x54)))
	}
	return cat(at, 0xfd, g.pick("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x5c\x5d"), 0, u(g.IntN(300)))
}
