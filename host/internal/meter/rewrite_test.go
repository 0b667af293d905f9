package meter

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	code := func(parts ...any) []byte {
		return (&build{memory: []byte{0, 1}, tables: [][]byte{{0x70, 0, 1}}, funcs: []fn{{"f", ">", "", nil}, {"g", ">", "", cat(parts...)}}}).bytes()
	}
	section := func(id int, body ...any) []byte {
		return cat("\x00asm\x01\x00\x00\x00", id, u(len(cat(body...))), cat(body...))
	}
	var nested, wide []byte
	for range maxBranches {
		nested = append(nested, 0x02, 0x40)
	}
	for range maxBranches {
		nested = append(nested, 0x0b)
	}
	wide = cat(0x00, 0x0e, u(maxBranches), make([]byte, maxBranches+1))
	huge := (&build{funcs: []fn{{"f", ">", "", make([]byte, maxFunction)}}}).bytes()
	var kinds []byte // of tables and segments, each with a helper
	for i := range maxHelpers + 1 {
		kinds = cat(kinds, 0x00, 0xfc, 8, u(i), 0)
	}
	reserved := func(module, export string) []byte {
		b := &build{funcs: []fn{{export, ">", "", nil}}}
		b.imports = [][]byte{cat(text(module), text("x"), 0, u(b.typ(">")))}
		return b.bytes()
	}
	for _, c := range []struct {
		name string
		wasm []byte
		want error
		text string
	}{
		{"empty", nil, ErrDamaged, "not a Wasm binary"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), nil, "a component cannot be metered"},
		{"version", []byte("\x00asm\x02\x00\x00\x00"), nil, "version 02"},
		{"cut", code()[:len(code())-1], ErrDamaged, "declared where"},
		{"order", cat(section(3, 0), section(1, 0)[8:]), ErrDamaged, "out of order"},
		{"tags", section(13, 0), nil, "section 13"},
		{"count", section(1, u(1<<31)), ErrDamaged, "2147483648 types are declared where 0 bytes remain"},
		{"struct type", section(1, 1, 0x5f, 0, 0), nil, "a type of form 0x5f"},
		{"shared memory", section(5, 1, 3, 1, 1), nil, "limits of kind 3"},
		{"64-bit memory", section(5, 1, 4, 1), nil, "limits of kind 4"},
		{"two memories", section(5, 2, 0, 1, 0, 1), nil, "a second memory"},
		{"threads", code(0xfe, 0, 0, 0), nil, "function 1: instruction 0xfe (threads) cannot be metered"},
		{"tail call", code(0x12, 0), nil, "function 1: instruction 0x12 (tail calls)"},
		{"try", code(0x06, 0x40, 0x0b), nil, "exception handling"},
		{"gc", code(0xfb, 0), nil, "garbage collection"},
		{"typed reference", code(0x14, 0), nil, "typed function references"},
		{"relaxed vector", code(0xfd, 0x80, 2), nil, "function 1: instruction 0xfd 256 (relaxed"},
		{"no vector", code(0xfd, 0x9a, 1), nil, "instruction 0xfd 154"},
		{"long vector opcode", code(0xfd, 0x8c, 0, make([]byte, 16)), nil, "function 1: instruction 0xfd 12 at more length than it needs"},
		{"longer vector opcode", code(0xfd, 0x80, 0x81, 0), nil, "instruction 0xfd 128 at more length"},
		{"misc", code(0xfc, 18), nil, "instruction 0xfc 18"},
		{"opcode", code(0xff), nil, "instruction 0xff (unknown)"},
		{"memory index", code(0x3f, 1), nil, "a second memory"},
		{"load of a memory", code(0x28, 0x42, 0, 0), nil, "a second memory"},
		{"alignment", code(0x28, 5, 0), ErrDamaged, "alignment"},
		{"the balance", code(0x23, 0), ErrDamaged, "global 0, but there are 0"},
		{"the hidden local", code(0x20, 0), ErrDamaged, "local 0, but there are 0"},
		{"the helpers", code(0x10, 2), ErrDamaged, "function 2, but there are 2"},
		{"their types", code(0x11, 1, 0), ErrDamaged, "type 1, but there are 1"},
		{"label", code(0x0c, 1), ErrDamaged, "label 1, but there are 1"},
		{"else", code(0x05), ErrDamaged, "else without if"},
		// The engine reads on where these begin a reference to a type.
		{"null of a type", section(6, 1, 0x70, 0, 0xd0, 0xc1, 0x0b), nil, "a reference to 0xc1"},
		{"elements of a type", section(9, 1, 5, 0x63, 0x70, make([]byte, 0x70*3)), nil, "elements of kind 0x63"},
		{"elements of no kind", section(9, 1, 1, 0x70, 0), nil, "elements of kind 0x70"},
		{"no end", code(0x02, 0x40), ErrDamaged, "breaks off"},
		{"two ends", code(0x0b), ErrDamaged, "too many"},
		{"long number", code(0x41, "\x80\x80\x80\x80\x10"), ErrDamaged, "more than 32 bits"},
		{"nesting", code(nested, 0x02, 0x40, 0x0b), ErrTooBig, "more than 50000 branches"},
		{"br_table", code(0x02, 0x40, wide, 0x0b), ErrTooBig, "more than 50000 branches"},
		{"large function", huge, ErrTooBig, "function 0 has"},
		{"helpers", code(kinds), ErrTooBig, "kinds of work"},
		{"locals", (&build{funcs: []fn{{"f", ">", strings.Repeat("i", maxLocals+1), nil}}}).bytes(), ErrTooBig, "groups of locals"},
		{"reserved import", reserved(Reserved, "f"), ErrReserved, "import"},
		{"reserved import 2", reserved(Reserved+"2", "f"), ErrReserved, "import"},
		{"reserved export", reserved("env", ExportLeft), ErrReserved, "export"},
	} {
		res, err := Rewrite(c.wasm, Options{})
		var u *Unsupported
		switch {
		case err == nil || res.Wasm != nil || !strings.Contains(err.Error(), c.text):
			t.Errorf("%s: %v; want %q", c.name, err, c.text)
		case c.want == nil && !errors.As(err, &u), c.want != nil && !errors.Is(err, c.want):
			t.Errorf("%s: %v is of another kind", c.name, err)
		}
	}
	if _, err := Rewrite(code(nested[2*2:maxBranches*2], nested[maxBranches*2:maxBranches*3-2]), Options{}); errors.Is(err, ErrTooBig) {
		t.Error(err)
	}
}

func TestTwiceIsRefused(t *testing.T) {
	t.Parallel()
	res, err := Rewrite(bulkModule().bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Rewrite(res.Wasm, Options{}); !errors.Is(err, ErrReserved) {
		t.Error(err)
	}
}

// TestTableBound is a table that may grow by its own declaration but not by
// the option.
func TestTableBound(t *testing.T) {
	t.Parallel()
	b := &build{tables: [][]byte{cat(0x70, 0, u(10))}, funcs: []fn{{"f", "i>i", "", cat(0xd0, 0x70, lget(0), 0xfc, 15, 0)}, {"size", ">i", "", cat(0xfc, 16, 0)}}}
	l := newLab(t)
	m, err := l.rt.InstantiateModule(t.Context(), l.rewritten(b.bytes(), Options{MaxTable: 50}, false), wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ by, want uint32 }{{41, 1<<32 - 1}, {1<<32 - 1, 1<<32 - 1}, {30, 10}, {10, 40}, {1, 1<<32 - 1}, {0, 50}} {
		if got, err := m.ExportedFunction("f").Call(t.Context(), uint64(c.by)); err != nil || uint32(got[0]) != c.want {
			t.Errorf("grow by %d: %d, %v; want %d", c.by, got, err, c.want)
		}
	}
}

// stackOf is the names of functions in a trap's stack, innermost first.
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
		{"gaps", [][]byte{cat(text("name"), locals, 1, 8, 1, 1, 5, "outer")}, ".$2 .outer", "", []string{"name"}},
		{"only locals", [][]byte{cat(text("name"), module, locals)}, "mm.$2 mm.$1", "", []string{"name"}},
		{"a long name", [][]byte{cat(text("name"), 1, u(maxName+6), 1, 1, text(strings.Repeat("x", maxName+1)))}, ".$2 .$1", "name", nil},
		{"others", [][]byte{cat(text(".debug_line"), "abc"), cat(text("producers"), 0), sound, cat(text("sourceMappingURL"), 0), cat(text("mine"), "\xff\x00")}, "mm.the inner mm.outer", ".debug_line sourceMappingURL", []string{"producers", "name", "mine"}},
	} {
		wasm := build(c.customs...)
		res, err := Rewrite(wasm, Options{})
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

// TestSame has equal output for equal input, and no change of the input.
func TestSame(t *testing.T) {
	t.Parallel()
	wasm := bulkModule().bytes()
	before := slices.Clone(wasm)
	a, _ := Rewrite(wasm, Options{})
	b, _ := Rewrite(wasm, Options{})
	if !bytes.Equal(a.Wasm, b.Wasm) || !bytes.Equal(before, wasm) {
		t.Error("not the same")
	}
}

// TestNumbers reads back what is written.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for shift := range 63 {
		for near := int64(-2); near <= 2; near++ {
			for _, v := range []int64{1<<shift + near, -1<<shift + near} {
				if r := (&reader{b: appendSigned(nil, v)}); r.signed(64) != v || r.err != nil || r.left() != 0 {
					t.Errorf("%d: %v", v, r)
				}
				if v < 0 || v > maxSegment+mostPrice {
					continue
				}
				r := &reader{b: make([]byte, 4)}
				putPadded(r.b, int(v))
				if r.signed(64) != v || r.err != nil || r.left() != 0 {
					t.Errorf("padded %d: %v", v, r)
				}
			}
		}
	}
	for text, bits := range map[string]int{
		"\x80\x80\x80\x80\x08": 32, "\xff\xff\xff\xff\x77": 32, "\xff\xff\xff\xff\x1f": 33, "\x80\x80\x80\x80\x80\x00": 32,
		"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01": 64, "\x80": 64,
	} {
		if r := (&reader{b: []byte(text)}); r.signed(bits) != 0 || r.err == nil {
			t.Errorf("%x is taken as a number of %d bits", text, bits)
		}
	}
}

// FuzzRewrite: nothing panics, the output is bounded, and the engine takes
// the output exactly if it takes the input.
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
		res, err := Rewrite(wasm, Options{MaxTable: 1000})
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
			return // the engine makes room for whatever a list of names claims
		}
		// The engine does not take an empty custom section at the very end.
		wasm = slices.Concat(wasm, []byte{0, 3, 1, 'x', 'y'})
		if _, before := rt.CompileModule(ctx, wasm); (before == nil) != (after == nil) {
			t.Fatalf("the engine says %v before, %v after", before, after)
		}
	})
}
