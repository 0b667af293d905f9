package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	var kinds []byte // of tables and segments, each with a helper
	for i := range maxHelpers + 1 {
		kinds = cat(kinds, 0x00, 0xfc, 8, u(i), 0)
	}
	helpers := &build{memory: []byte{0, 1}, funcs: []fn{{"f", ">", "", kinds}}}
	reserved := func(module, export string) []byte {
		b := &build{funcs: []fn{{export, ">", "", nil}}}
		b.imports = [][]byte{cat(text(module), text("x"), 0, u(b.typ(">")))}
		return b.bytes()
	}
	for _, c := range []struct {
		name string
		wasm []byte
		text string
	}{
		{"not decoded", []byte("\x00asm\x0d\x00\x01\x00"), "component"},
		{"code", (&build{funcs: []fn{{"f", ">", "", nil}, {"g", ">", "", []byte{0x12}}}}).bytes(), "function 1: instruction 0x12 (tail calls)"},
		{"the balance", (&build{funcs: []fn{{"f", ">", "", cat(0x23, 0)}}}).bytes(), "global 0, but there are 0"},
		{"the hidden local", (&build{funcs: []fn{{"f", ">", "", lget(0)}}}).bytes(), "local 0, but there are 0"},
		{"the helpers", (&build{funcs: []fn{{"f", ">", "", cat(0x10, 1)}}}).bytes(), "function 1, but there are 1"},
		{"too many helpers", helpers.bytes(), "function 0: more than 1000 different bulk operations"},
		{"reserved import", reserved(Reserved, "f"), "reserved name: import"},
		{"reserved import 2", reserved(Reserved+"2", "f"), "reserved name: import"},
		{"reserved export", reserved("env", ExportLeft), "reserved name: export"},
	} {
		if res, err := rewritten(c.wasm, Options{}); err == nil || res.Wasm != nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v; want %q", c.name, err, c.text)
		}
	}
}

// TestMemory meters modules that take many times their size: of short segments only, of small functions,
// of exports with many parameters, and of tables of jumps to many loops.
func TestMemory(t *testing.T) {
	t.Parallel()
	const size, limit = 1 << 20, 8 << 20
	jumps := &build{} // without the operands, which the engine checks later
	for range 20 {
		jumps.funcs = append(jumps.funcs, fn{"", ">", "", bytes.Repeat([]byte{0x0d, 0}, size/2/20)})
	}
	fills := &build{memory: []byte{0, 1}, funcs: []fn{{"f", ">", "", bytes.Repeat([]byte{0xfc, 11, 0}, size/3)}}}
	small, exports, loops := &build{}, &build{}, &build{}
	for range limit / 100 {
		small.funcs = append(small.funcs, fn{"", ">", "", nil})
	}
	var calls []byte
	for i := range 3000 {
		exports.funcs = append(exports.funcs, fn{fmt.Sprint(i), strings.Repeat("i", 1000) + ">", "", []byte{0x01}})
		calls = append(calls, cat(0x10, u(i))...)
	}
	exports.funcs = append(exports.funcs, fn{"", ">", "", calls})
	const nested = 124
	table := []byte{0x02, 0x40, 0x0e, nested}
	for i := range byte(nested) {
		table = append(table, i+1)
	}
	table = append(table, 0, 0x0b)
	for range 20 { // a function may have 50,000 branches
		loops.funcs = append(loops.funcs, fn{"", ">", "", cat(bytes.Repeat([]byte{0x03, 0x40}, nested), bytes.Repeat(table, 390), bytes.Repeat([]byte{0x0b}, nested))})
	}
	for i, b := range []*build{jumps, fills, small, exports, loops} {
		in, err := wasm.Decode(b.bytes())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Rewrite(in, Options{MaxMemory: limit}); !errors.Is(err, ErrMemory) {
			t.Errorf("%d: %v", i, err)
		}
	}
	sums := &build{funcs: []fn{{"f", "i>i", "", cat(lget(0), bytes.Repeat(cat(lget(0), 0x6a), size/3))}}}
	if _, err := rewritten(sums.bytes(), Options{MaxMemory: limit}); err != nil {
		t.Error(err)
	}
}

func TestTwiceIsRefused(t *testing.T) {
	t.Parallel()
	res, err := rewritten(bulkModule().bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rewritten(res.Wasm, Options{}); !errors.Is(err, ErrReserved) {
		t.Error(err)
	}
}

// TestTableBound has a table that may grow by its own declaration but not by the option.
func TestTableBound(t *testing.T) {
	t.Parallel()
	b := &build{tables: [][]byte{cat(0x70, 0, u(10))}, funcs: []fn{{"f", "i>i", "", cat(0xd0, 0x70, lget(0), 0xfc, 15, 0)}, {"size", ">i", "", cat(0xfc, 16, 0)}}}
	l := newLab(t)
	m, err := l.rt.InstantiateModule(t.Context(), l.rewritten(b.bytes(), Options{MaxTable: 50}, gathered), wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ by, want uint32 }{{41, 1<<32 - 1}, {1<<32 - 1, 1<<32 - 1}, {30, 10}, {10, 40}, {1, 1<<32 - 1}, {0, 50}} {
		if got, err := m.ExportedFunction("f").Call(t.Context(), uint64(c.by)); err != nil || uint32(got[0]) != c.want {
			t.Errorf("grow by %d: %d, %v; want %d", c.by, got, err, c.want)
		}
	}
}

// stackOf returns the names of the functions in a trap's stack, innermost first.
func stackOf(err error) (names []string) {
	_, stack, _ := strings.Cut(err.Error(), "wasm stack trace:")
	for line := range strings.SplitSeq(stack, "\n") {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), "("); ok {
			names = append(names, name)
		}
	}
	return names
}

func TestNames(t *testing.T) {
	t.Parallel()
	funcs := cat(1, u(0), 3, 0, text("odd"), 1, text("outer"), 2, text("the inner"))
	locals := cat(2, u(0), 2, 1, 1, 0, text("n"), 2, 0)
	module := cat(0, u(3), text("mm"))
	build := func(customs ...[]byte) []byte {
		b := &build{funcs: []fn{{"f", "i>i", "", cat(lget(0), 0x10, 2)}, {"", "i>i", "", cat(0x00)}}, customs: customs}
		b.imports = [][]byte{cat(text("env"), text("odd"), 0, u(b.typ("i>i")))}
		return b.bytes()
	}
	funcs[1], locals[1] = byte(len(funcs)-2), byte(len(locals)-2)
	sound := cat(text("name"), module, funcs, locals, 9, 2, "\xff\xff")
	for _, c := range []struct {
		name    string
		customs [][]byte
		want    string
		dropped string
		kept    []string
	}{
		{"sound", [][]byte{sound}, "mm.the inner mm.outer", "", []string{"name"}},
		{"two", [][]byte{sound, sound}, "mm.the inner mm.outer", "name", []string{"name"}},
		{"none", nil, ".$2 .$1", "", nil},
		{"damaged", [][]byte{cat(text("name"), 1, 5, 9, 0)}, ".$2 .$1", "name", nil},
		{"too many", [][]byte{cat(text("name"), 1, 4, 1, 77, 1, "x")}, ".$2 .$1", "name", nil},
		{"no text", [][]byte{cat(text("name"), 1, 4, 1, 1, 1, "\xff")}, ".$2 .$1", "name", nil},
		{"gaps", [][]byte{cat(text("name"), 1, 8, 1, 1, 5, "outer", locals)}, ".$2 .outer", "", []string{"name"}},
		{"not in order", [][]byte{cat(text("name"), locals, 1, 8, 1, 1, 5, "outer")}, ".$2 .$1", "name", nil},
		{"functions twice", [][]byte{cat(text("name"), 1, 1, 0, 1, 1, 0)}, ".$2 .$1", "name", nil}, // each would name all
		{"only locals", [][]byte{cat(text("name"), module, locals)}, "mm.$2 mm.$1", "", []string{"name"}},
		{"a long name", [][]byte{cat(text("name"), 1, u(wasm.MaxName+6), 1, 1, text(strings.Repeat("x", wasm.MaxName+1)))}, ".$2 .$1", "name", nil},
		{"others", [][]byte{cat(text(".debug_line"), "abc"), cat(text("producers"), 0), sound, cat(text("sourceMappingURL"), 0), cat(text("mine"), "\xff\x00")}, "mm.the inner mm.outer", ".debug_line sourceMappingURL", []string{"producers", "name", "mine"}},
	} {
		wasm := build(c.customs...)
		res, err := rewritten(wasm, Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := strings.Join(res.Dropped, " "); got != c.dropped {
			t.Errorf("%s: dropped %q, want %q", c.name, got, c.dropped)
		}
		l := newLab(t)
		m, err := l.rt.InstantiateWithConfig(t.Context(), res.Wasm, wazero.NewModuleConfig())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, err = m.ExportedFunction("f").Call(t.Context(), 1)
		if got := strings.Join(stackOf(err), " "); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: stack %q, want %q (%v)", c.name, got, c.want, err)
		}
		for _, k := range c.kept {
			if !bytes.Contains(res.Wasm, text(k)) {
				t.Errorf("%s: %s is gone", c.name, k)
			}
		}
	}
}

// TestSame checks that equal inputs give equal outputs, and that the input does not
// change.
func TestSame(t *testing.T) {
	t.Parallel()
	wasm := bulkModule().bytes()
	before := slices.Clone(wasm)
	a, _ := rewritten(wasm, Options{})
	b, _ := rewritten(wasm, Options{})
	if !bytes.Equal(a.Wasm, b.Wasm) || !bytes.Equal(before, wasm) {
		t.Error("not the same")
	}
}

// TestNumbers decodes what was encoded.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for shift := range 63 {
		for near := int64(-2); near <= 2; near++ {
			for _, v := range []int64{1<<shift + near, -1<<shift + near} {
				if r := wasm.NewReader(appendSigned(nil, v)); r.Signed(64) != v || r.Err() != nil || r.Left() != 0 {
					t.Errorf("%d: %v", v, r.Err())
				}
			}
		}
	}
}

// A block refers to its type by a signed number, everything else by an unsigned one.
// Their encodings differ from the 64th type on.
func TestBlocksOfTypesThatWereAdded(t *testing.T) {
	t.Parallel()
	for _, types := range []int{1, 62, 63, 64, 65, 127, 128, 8191, 8192} {
		b := &build{memory: []byte{0, 1}, funcs: []fn{{"f", "iii>", "", cat(lget(0), lget(1), lget(2), 0xfc, 11, 0)}}}
		for i := range types - 1 { // the function has a type, too
			b.types = append(b.types, strings.Repeat("l", i%90)+strings.Repeat("d", i/90)+">")
		}
		out, err := rewritten(b.bytes(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
		if _, err := rt.NewHostModuleBuilder(ImportModule).NewFunctionBuilder().WithFunc(func(int64) int64 { return 1 << 40 }).Export(ImportYield).Instantiate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m, err := rt.Instantiate(t.Context(), out.Wasm); err != nil {
			t.Errorf("beside %d types: %v", types, err)
		} else if _, err := m.ExportedFunction("f").Call(t.Context(), 0, 7, 100); err != nil {
			t.Errorf("beside %d types: %v", types, err)
		}
		if err := rt.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// FuzzRewrite checks that nothing panics, that the output is bounded, and that the engine
// accepts the output exactly if it accepts the input.
func FuzzRewrite(f *testing.F) {
	for _, c := range controlCases() {
		f.Add(c.b.bytes())
	}
	small := &build{memory: []byte{0, 1}, tables: [][]byte{{0x70, 0, 1}}, datas: [][]byte{{1, 1, 1}}, elems: [][]byte{{1, 0, 1, 0}}}
	small.funcs = []fn{{"f", "iii>", "", cat(
		lget(0), lget(1), lget(2), 0xfc, 8, 0, 0, lget(0), lget(1), lget(2), 0xfc, 10, 0, 0, lget(0), lget(1), lget(2), 0xfc, 11, 0,
		lget(0), lget(1), lget(2), 0xfc, 12, 0, 0, lget(0), lget(1), lget(2), 0xfc, 14, 0, 0, lget(0), 0xd0, 0x70, lget(2), 0xfc, 17, 0, lget(0), 0x40, 0, 0x1a)}}
	f.Add(small.bytes())
	for seed := range uint64(30) {
		wasm, _ := generate(seed)
		f.Add(wasm)
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, wasm []byte) {
		res, err := rewritten(wasm, Options{MaxTable: 1000})
		if err != nil {
			return
		}
		if len(res.Wasm) > Growth*len(wasm)+GrowthFloor {
			t.Fatalf("%d bytes became %d", len(wasm), len(res.Wasm))
		}
		rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		defer rt.Close(ctx)
		_, after := rt.CompileModule(ctx, res.Wasm)
		if len(res.Dropped) > 0 {
			return // the engine allocates whatever a list of names declares
		}
		// The engine refuses an empty custom section at the very end.
		wasm = slices.Concat(wasm, []byte{0, 3, 1, 'x', 'y'})
		if _, before := rt.CompileModule(ctx, wasm); (before == nil) != (after == nil) {
			t.Fatalf("the engine says %v before, %v after", before, after)
		}
	})
}
