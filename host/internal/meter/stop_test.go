package meter

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// TestStop runs guests that never end, or take very long. A yield that panics must stop
// each soon after its fuel is used up.
func TestStop(t *testing.T) {
	t.Parallel()
	mem := []byte{1, 1, 0x80, 0x08} // up to 1024 pages
	f := func(code ...any) *build { return &build{memory: mem, funcs: []fn{{"f", "i>", "", cat(code...)}}} }
	tree := f(lget(0), 0x10, 0, lget(0), 0x10, 0)
	mutual := f(lget(0), 0x10, 1)
	mutual.funcs = append(mutual.funcs, fn{"", "i>", "", cat(lget(0), i32c(1), 0x6a, 0x10, 0)})
	deep := f(lget(0), i32c(60), 0x4a, 0x04, 0x40, 0x0f, 0x0b, lget(0), i32c(1), 0x6a, 0x10, 0, lget(0), i32c(1), 0x6a, 0x10, 0)
	far := f(lget(0), i32c(40), 0x4a, 0x0d, 0, lget(0), i32c(1), 0x6a, i32c(0), 0x11, 0, 0, lget(0), i32c(1), 0x6a, i32c(0), 0x11, 0, 0)
	far.types = []string{"i>"}
	far.tables = [][]byte{{0x70, 0, 1}}
	far.elems = [][]byte{cat(0, i32c(0), 0x0b, 1, 0)}
	tables := f(0x03, 0x40, i32c(0), 0xd0, 0x70, i32c(90_000), 0xfc, 17, 0, 0x0c, 0, 0x0b)
	tables.tables = [][]byte{cat(0x70, 0, u(90_000))}
	small := f(lget(0), 0x10, 1, lget(0), 0x10, 1) // without loops or cycles, but practically endless
	for i := range 60 {
		small.funcs = append(small.funcs, fn{"", "i>", "", cat(lget(0), 0x10, u(i+2), lget(0), 0x10, u(i+2))})
	}
	small.funcs = append(small.funcs, fn{"", "i>", "", nil})
	started := f()
	started.funcs = append(started.funcs, fn{"", ">", "", cat(0x03, 0x40, 0x0c, 0, 0x0b)})
	started.start = 1
	grown := cat(i32c(1023), 0x40, 0, 0x1a)
	const limit = 3_000_000
	for name, c := range map[string]struct {
		b    *build
		over int64 // allowed excess of fuel: one piece, or one growth
	}{
		"loop":         {f(0x03, 0x40, 0x0c, 0, 0x0b), 100},
		"loop, br_if":  {f(0x03, 0x40, i32c(1), 0x0d, 0, 0x0b), 100},
		"loop, table":  {f(0x03, 0x40, i32c(0), 0x0e, 0, 0, 0x0b), 100},
		"later loop":   {f(lget(0), 0x1a, 0x03, 0x40, lget(0), 0x1a, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b), 100},
		"outer loop":   {f(lget(0), 0x1a, 0x03, 0x40, lget(0), 0x1a, 0x03, 0x40, 0x0b, 0x0c, 0, 0x0b), 100},
		"jump on jump": {f(0x03, 0x40, 0x03, 0x40, 0x02, 0x40, 0x0c, 2, 0x0b, 0x0b, 0x0b), 100},
		"tree":         {deep, 100},
		"far tree":     {far, 200},
		"small tree":   {small, 2 * maxCalled},
		"fill":         {f(grown, 0x03, 0x40, i32c(0), lget(0), i32c(1<<26), 0xfc, 11, 0, 0x0c, 0, 0x0b), 8300},
		"one fill":     {f(grown, i32c(0), lget(0), i32c(1<<26), 0xfc, 11, 0), 8_500_000},
		"copy":         {f(grown, 0x03, 0x40, i32c(0), i32c(1), i32c(1<<26-1), 0xfc, 10, 0, 0, 0x0c, 0, 0x0b), 8300},
		"copy up":      {f(grown, 0x03, 0x40, i32c(1), i32c(0), i32c(1<<26-1), 0xfc, 10, 0, 0, 0x0c, 0, 0x0b), 8300},
		"grow by none": {f(0x03, 0x40, i32c(0), 0x40, 0, 0x1a, 0x0c, 0, 0x0b), 100},
		"grow too far": {f(0x03, 0x40, i32c(-1), 0x40, 0, 0x1a, 0x0c, 0, 0x0b), 100},
		"table fill":   {tables, 8300},
		"start":        {started, 100},
		"no end":       {tree, 0},   // overflows the stack if not stopped
		"to and fro":   {mutual, 0}, // the same
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.rt = wazero.NewRuntime(t.Context())
			t.Cleanup(func() { _ = l.rt.Close(t.Context()) })
			l.meters = newMeters(t, l.rt, 100)
			l.meters.limit = limit
			if strings.Contains(name, "copy") || name == "fill" {
				l.meters.limit += 1023 << pageShift // growing has a price, too
			}
			if c.over == 0 {
				l.meters.limit = 10_000
				c.over = 100
			}
			m := l.rewritten(c.b.bytes(), Options{}, gathered)
			mod, err := l.rt.InstantiateModule(t.Context(), m, wazero.NewModuleConfig().WithStartFunctions(ExportStart))
			if name != "start" {
				if err != nil {
					t.Fatal(err)
				}
				_, err = mod.ExportedFunction("f").Call(t.Context(), 0)
			}
			if !errors.Is(err, outOfFuel{}) {
				t.Fatalf("it ended with %v", err)
			}
			used := l.meters.last.SettleBalance(l.meters.last.given)
			if most := l.meters.limit + 200 + c.over; used > most {
				t.Errorf("stopped after %d of fuel; want at most %d", used, most)
			}
			// Between any two yields there are only a few pieces, or one growth.
			if asked := int64(l.meters.yields); (used-1023<<pageShift)/asked > 8300+200 {
				t.Errorf("%d yields for %d of fuel", asked, used)
			}
		})
	}
}

// TestChecksBeforeCallsOfTheHost has straight code of many host calls. Each may take
// long, so the balance must be checked before each.
func TestChecksBeforeCallsOfTheHost(t *testing.T) {
	t.Parallel()
	const n = 1000
	odd := cat(i32c(1), 0x10, 0, 0x1a)
	far := cat(i32c(1), i32c(0), 0x11, 0, 0, 0x1a)
	for name, code := range map[string][]byte{
		"direct":          bytes.Repeat(odd, n),
		"by a table":      bytes.Repeat(far, n),
		"in one arm":      bytes.Repeat(cat(i32c(1), 0x04, 0x40, odd, 0x05, i32c(2), 0x1a, 0x0b), n),
		"in the other":    bytes.Repeat(cat(i32c(0), 0x04, 0x40, i32c(2), 0x1a, 0x05, odd, 0x0b), n),
		"behind a branch": bytes.Repeat(cat(0x02, 0x40, i32c(0), 0x0d, 0, odd, 0x0b), n),
	} {
		b := &build{tables: [][]byte{{0x70, 0, 1}}}
		b.imports = [][]byte{cat(text("env"), text("odd"), 0, u(b.typ("i>i")))}
		b.funcs = []fn{{"f", ">", "", code}}
		if name == "by a table" {
			b.elems = [][]byte{cat(0, i32c(0), 0x0b, 1, 0)}
		}
		l := newLab(t)
		l.meters.slice = 1
		m, err := l.rt.InstantiateModule(t.Context(), l.rewritten(b.bytes(), Options{}, gathered), wazero.NewModuleConfig())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.ExportedFunction("f").Call(t.Context()); err != nil || l.meters.yields < n {
			t.Errorf("%s: asked %d times, %v", name, l.meters.yields, err)
		}
	}
}

// TestNeverAsked has a host that sets a large enough balance.
func TestNeverAsked(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	b := &build{funcs: []fn{{"f", "i>i", "i", cat(countDown(lget(1), lget(0), 0x6a, lset(1)), lget(1))}}}
	mod, err := l.rt.InstantiateModule(t.Context(), l.rewritten(b.bytes(), Options{}, gathered), wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	var fuel []string
	for range 2 {
		var y Tally
		setGlobal(mod, y.GrantSlice(100_000))
		if _, err := mod.ExportedFunction("f").Call(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		fuel = append(fuel, fmt.Sprint(y.SettleBalance(int64(mod.ExportedGlobal(ExportLeft).Get()))))
	}
	if l.meters.yields != 0 || fuel[0] != fuel[1] || fuel[0] == "0" {
		t.Errorf("asked %d times; fuel %v", l.meters.yields, fuel)
	}
}

// TestReportsOnTheWayBack has a recursion that does most of its work after its calls: it
// must yield then, too.
func TestReportsOnTheWayBack(t *testing.T) {
	t.Parallel()
	const depth, times, slice = 500, 2000, 100
	rest := bytes.Repeat(cat(lget(0), i32c(1), 0x6a, lset(0)), times)
	deeper := cat(lget(0), i32c(1), 0x6b, 0x10, 1, 0x1a)
	bottom := cat(lget(0), 0x45, 0x04, 0x40, i32c(0), 0x10, 0, 0x1a, i32c(0), 0x0f, 0x0b)
	for name, code := range map[string][]byte{
		"straight":    cat(bottom, deeper, rest, lget(0)),
		"in an arm":   cat(lget(0), 0x04, 0x40, bottom, deeper, 0x05, i32c(0), 0x10, 0, 0x1a, 0x0b, rest, lget(0)),
		"of a loop":   cat(bottom, 0x02, 0x40, 0x03, 0x40, deeper, rest, 0x0c, 1, 0x0b, 0x0b, lget(0)),
		"a loop":      cat(bottom, deeper, 0x02, 0x40, 0x03, 0x40, rest, lget(0), i32c(1<<12), 0x4a, 0x0d, 1, 0x0c, 0, 0x0b, 0x0b, lget(0)),
		"in a branch": cat(bottom, 0x02, 0x40, lget(0), 0x45, 0x0d, 0, deeper, 0x0b, rest, lget(0)),
	} {
		l := newLab(t)
		l.meters.slice = slice
		before := 0
		_, err := l.rt.NewHostModuleBuilder("test").NewFunctionBuilder().
			WithFunc(func(uint32) uint32 { before = l.meters.yields; return 0 }).Export("bottom").Instantiate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b := &build{}
		b.imports = [][]byte{cat(text("test"), text("bottom"), 0, u(b.typ("i>i")))}
		b.funcs = []fn{{"f", "i>i", "", code}}
		m, err := l.rt.InstantiateModule(t.Context(), l.rewritten(b.bytes(), Options{}, gathered), wazero.NewModuleConfig())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.ExportedFunction("f").Call(t.Context(), depth); err != nil {
			t.Fatal(err)
		}
		if l.meters.maxBetween > slice+5*times {
			t.Errorf("%s: %d of fuel between two reports", name, l.meters.maxBetween)
		}
		if back := l.meters.yields - before; back < depth-1 {
			t.Errorf("%s: %d reports on the way back from %d calls", name, back, depth)
		}
	}
}

// TestReportsAmongSmallFunctions has straight code of many calls of a function that does
// not check the balance.
func TestReportsAmongSmallFunctions(t *testing.T) {
	t.Parallel()
	const n, slice = 5000, 100
	l := newLab(t)
	l.meters.slice = slice
	b := &build{funcs: []fn{
		{"f", ">", "", bytes.Repeat(cat(0x10, 1), n)},
		{"", ">", "", bytes.Repeat(cat(i32c(1), 0x1a), maxCalled-10)},
	}}
	m, err := l.rt.InstantiateModule(t.Context(), l.rewritten(b.bytes(), Options{}, gathered), wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ExportedFunction("f").Call(t.Context()); err != nil {
		t.Fatal(err)
	}
	if most := int64(slice + 2*(maxCalls+1)*maxCalled); l.meters.yields < n/(maxCalls+2) || l.meters.maxBetween > most {
		t.Errorf("asked %d times; %d of fuel between two of them, want at most %d", l.meters.yields, l.meters.maxBetween, most)
	}
}
