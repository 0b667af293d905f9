package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

func uleb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func section(id byte, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat([]byte{id}, uleb(len(body)), body)
}

func moduleOf(sections ...[]byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), slices.Concat(sections...)...)
}

var (
	huge    = []byte{0xff, 0xff, 0xff, 0xff, 0x0f} // 2^32-1
	oneType = section(SectionType, []byte{1, 0x60, 0, 0})
)

// code is a module with a table, a memory, and two functions; the second has the given
// body, including its locals.
func code(parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return moduleOf(oneType, section(SectionFunction, []byte{2, 0, 0}), section(SectionTable, []byte{1, 0x70, 0, 1}), section(SectionMemory, []byte{1, 0, 1}),
		section(SectionCode, []byte{2, 2, 0, 0x0b}, uleb(len(body)), body))
}

// plain is code without locals, and with the final end.
func plain(b ...byte) []byte { return code([]byte{0}, b, []byte{0x0b}) }

// whole decodes all of a module, including its code.
func whole(wasm []byte) (*Module, error) {
	m, err := Decode(wasm)
	if err != nil {
		return nil, err
	}
	var c Code
	for i := range m.Bodies {
		c.BeginBody(m, i)
		for c.Next() {
		}
		if err := c.Err(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// A rewritten module may exceed the limits of the original.
func TestMadeIsBeyondBounds(t *testing.T) {
	t.Parallel()
	locals := slices.Concat([]byte{1}, uleb(maxLocals+1), []byte{0x7f})
	nested := slices.Concat(bytes.Repeat([]byte{0x02, 0x40}, maxBranches+1), bytes.Repeat([]byte{0x0b}, maxBranches+2))
	for name, body := range map[string][]byte{"locals": append(locals, 0x0b), "branches": append([]byte{0}, nested...)} {
		binary := code(body)
		if _, err := whole(binary); err == nil {
			t.Errorf("%s: taken as they come", name)
		}
		m, err := DecodeMetered(binary)
		if err != nil {
			t.Fatal(name, err)
		}
		var c Code
		for c.BeginBody(m, 1); c.Next(); {
		}
		if err := c.Err(); err != nil {
			t.Error(name, err)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	nested := slices.Concat(bytes.Repeat([]byte{0x02, 0x40}, maxBranches), bytes.Repeat([]byte{0x0b}, maxBranches))
	if _, err := whole(plain(nested...)); err != nil {
		t.Fatal(err)
	}
	wide := slices.Concat([]byte{0x00, 0x0e}, uleb(maxBranches), make([]byte, maxBranches+1))
	constant := func(b ...byte) []byte { return moduleOf(section(SectionGlobal, []byte{1, 0x7f, 0}, b)) }
	for _, c := range []struct {
		name string
		wasm []byte
		kind Kind
		text string
	}{
		{"empty", nil, NotWasm, "not a Wasm binary"},
		{"version", []byte("\x00asm\x02\x00\x00\x00"), NotWasm, "unknown version 02 00"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), IsComponent, "component"},
		{"cut", code()[:len(code())-1], Damaged, "declared, but"},
		{"sections out of order", moduleOf(section(SectionFunction, []byte{0}), oneType), Damaged, "section type is repeated or out of order"},
		{"section twice", moduleOf(oneType, oneType), Damaged, "repeated"},
		{"section too long", moduleOf([]byte{1}, huge), Damaged, "declared, but"},
		{"unknown section", moduleOf(section(14, []byte{0})), Damaged, "kind 14"},
		{"tags", moduleOf(section(13, []byte{0})), Unsupported, "exception"},
		{"left over", moduleOf(section(SectionFunction, []byte{0, 0})), Damaged, "section function: 1 bytes too many"},
		{"name of a custom section", moduleOf(section(SectionCustom, huge)), Damaged, "section custom"},
		{"custom sections", moduleOf(bytes.Repeat([]byte{0, 1, 0}, maxCustoms+1)), TooBig, "10000 custom sections"},

		{"parameters", moduleOf(section(SectionType, []byte{1, 0x60}, huge)), Damaged, "parameters"},
		{"too many parameters", moduleOf(section(SectionType, []byte{1, 0x60}, uleb(2000), make([]byte, 3000))), TooBig, "2000 parameters"},
		{"too many results", moduleOf(section(SectionType, []byte{1, 0x60, 0}, uleb(101), make([]byte, 101))), TooBig, "101 results"},
		{"value type", moduleOf(section(SectionType, []byte{1, 0x60, 1, 0x6e, 0})), Unsupported, "value type 0x6e"},
		{"garbage collection", moduleOf(section(SectionType, []byte{1, 0x5f, 0, 0})), Unsupported, "garbage"},
		{"form of type", moduleOf(section(SectionType, []byte{1, 0x61, 0, 0})), Damaged, "form 0x61"},
		{"type of an import", moduleOf(section(SectionImport, []byte{1, 0, 0, KindFunc, 0})), Damaged, "type 0, but there are 0"},
		{"kind of an import", moduleOf(section(SectionImport, []byte{1, 1, 'm', 1, 'n', 4, 0})), Unsupported, `import "m"."n"`},
		{"name that is no text", moduleOf(section(SectionImport, []byte{1, 1, 0xff, 0, 0, 0})), Damaged, "UTF-8"},
		{"table upside down", moduleOf(section(SectionTable, []byte{1, 0x70, 1, 5, 4})), Damaged, "at least 5"},
		{"table of numbers", moduleOf(section(SectionTable, []byte{1, 0x7f, 0, 1})), Unsupported, "0x7f"},
		{"table with 64-bit limits", moduleOf(section(SectionTable, []byte{1, 0x70, 4, 1})), Unsupported, "limit flags 0x4"},
		{"large memory", moduleOf(section(SectionMemory, []byte{1, 0}, uleb(MaxPages+1))), Damaged, "4 GiB"},
		{"shared memory", moduleOf(section(SectionMemory, []byte{1, 3, 1, 1})), Unsupported, "threads"},
		{"64-bit memory", moduleOf(section(SectionMemory, []byte{1, 4, 1})), Unsupported, "64-bit"},
		{"two memories", moduleOf(section(SectionMemory, []byte{2, 0, 1, 0, 1})), Unsupported, "a second memory"},
		{"two memories, one imported", moduleOf(section(SectionImport, []byte{1, 0, 0, KindMemory, 0, 1}), section(SectionMemory, []byte{1, 0, 1})), Unsupported, "a second memory"},
		{"variable global", moduleOf(section(SectionGlobal, []byte{1, 0x7f, 2, 0x41, 0, 0x0b})), Damaged, "neither constant nor variable"},
		{"long name", moduleOf(section(SectionExport, []byte{1}, uleb(MaxName+1), make([]byte, MaxName+10))), TooBig, "100001 bytes"},
		{"export of a function", moduleOf(section(SectionExport, []byte{1, 0, KindFunc, 0})), Damaged, "function 0, but there are 0"},
		{"export of a tag", moduleOf(section(SectionExport, []byte{1, 0, 4, 0})), Unsupported, "kind 4"},
		{"export twice", moduleOf(section(SectionExport, []byte{2, 1, 'x', KindMemory, 0, 1, 'x', KindMemory, 0})), Damaged, `"x" occurs twice`},
		{"start", moduleOf(section(SectionStart, []byte{0})), Damaged, "function 0, but there are 0"},
		{"elements", moduleOf(section(SectionElement, []byte{1, 0, 0x41, 0, 0x0b}, huge)), Damaged, "elements"},
		{"kind of elements", moduleOf(section(SectionElement, []byte{1, 8, 0})), Unsupported, "kind 8"},
		// For these bytes the engine would read a reference to a type.
		{"null of a type", constant(0xd0, 0xc1, 0x0b), Unsupported, "a reference to 0xc1"},
		{"elements of a type", moduleOf(section(SectionElement, []byte{1, 5, 0x63, 0x70}, make([]byte, 0x70*3))), Unsupported, "elements of kind 0x63"},
		{"elements of no kind", moduleOf(section(SectionElement, []byte{1, 1, 0x70, 0})), Unsupported, "elements of kind 0x70"},
		{"data", moduleOf(section(SectionData, []byte{1, 1}, huge)), Damaged, "declared, but"},
		{"kind of data", moduleOf(section(SectionData, []byte{1, 3, 0})), Unsupported, "kind 3"},
		{"a global before it is there", constant(0x23, 0, 0x0b), Damaged, "global 0, but there are 0"},
		{"calculating", constant(0x41, 0, 0x41, 0, 0x6a, 0x0b), Unsupported, "instruction 0x6a in a constant"},
		{"vectors", constant(0xfd, 13), Unsupported, "vector instruction"},
		{"vector at length", constant(slices.Concat([]byte{0xfd, 0x8c, 0}, make([]byte, 17))...), Unsupported, "vector instruction"},
		{"constant", constant(append(bytes.Repeat([]byte{0x41, 0}, maxConstant), 0x0b)...), TooBig, "16 instructions"},
		{"function without code", moduleOf(oneType, section(SectionFunction, []byte{1, 0})), Damaged, "no code"},
		{"bodies missing", moduleOf(oneType, section(SectionFunction, []byte{2, 0, 0}), section(SectionCode, []byte{1, 2, 0, 0x0b})), Damaged, "2 functions are declared, but there are 1 bodies"},
		{"bodies too many", moduleOf(oneType, section(SectionCode, []byte{1, 2, 0, 0x0b})), Damaged, "bodies"},
		{"large function", plain(make([]byte, maxFunction)...), TooBig, "function 1 has"},
		{"number too long", moduleOf(section(SectionFunction, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0})), Damaged, "32 bits"},

		{"locals", code([]byte{1}, uleb(maxLocals+1), []byte{0x7f, 0x0b}), TooBig, "function 1: 50001 locals"},
		{"locals beyond 32 bits", code([]byte{2}, huge, []byte{0x7f}, huge, []byte{0x7f, 0x0b}), TooBig, "locals"},
		{"groups of locals", code(huge), Damaged, "groups of locals"},
		{"more groups of locals", code(uleb(maxLocals+1), make([]byte, 3*maxLocals)), TooBig, "groups of locals"},
		{"type of a local", code([]byte{1, 1, 0x40, 0x0b}), Unsupported, "value type 0x40"},
		{"threads", plain(0xfe, 0, 0, 0), Unsupported, "function 1: instruction 0xfe (threads)"},
		{"tail call", plain(0x12, 0), Unsupported, "tail calls"},
		{"try", plain(0x06, 0x40, 0x0b), Unsupported, "exception handling"},
		{"gc", plain(0xfb, 0), Unsupported, "garbage collection"},
		{"typed reference", plain(0x14, 0), Unsupported, "typed function references"},
		{"relaxed vector", plain(0xfd, 0x80, 2), Unsupported, "instruction 0xfd 256 (relaxed"},
		{"no vector", plain(0xfd, 0x9a, 1), Unsupported, "instruction 0xfd 154"},
		{"long vector opcode", plain(append([]byte{0xfd, 0x8c, 0}, make([]byte, 16)...)...), Unsupported, "instruction 0xfd 12 has an encoding that is too long"},
		{"longer vector opcode", plain(0xfd, 0x80, 0x81, 0), Unsupported, "instruction 0xfd 128 has an encoding"},
		{"misc", plain(0xfc, 18), Unsupported, "instruction 0xfc 18"},
		{"huge misc", plain(append([]byte{0xfc}, huge...)...), Unsupported, "instruction 0xfc 4294967295"},
		{"opcode", plain(0xff), Unsupported, "instruction 0xff (unknown)"},
		{"memory index", plain(0x3f, 1), Unsupported, "a second memory"},
		{"load of a memory", plain(0x28, 0x42, 0, 0), Unsupported, "a second memory"},
		{"copy to a memory", plain(0xfc, 10, 0, 1), Unsupported, "a second memory"},
		{"alignment", plain(0x28, 5, 0), Damaged, "alignment"},
		{"global", plain(0x23, 0), Damaged, "global 0, but there are 0"},
		{"local", plain(0x20, 0), Damaged, "local 0, but there are 0"},
		{"function", plain(0x10, 2), Damaged, "function 2, but there are 2"},
		{"reference", plain(0xd2, 2), Damaged, "function 2, but there are 2"},
		{"type", plain(0x11, 1, 0), Damaged, "type 1, but there are 1"},
		{"table", plain(0x25, 1), Damaged, "table 1, but there are 1"},
		{"type of a block", plain(0x02, 1, 0x0b), Damaged, "type 1, but there are 1"},
		{"value of a block", plain(0x02, 0x41, 0x0b), Unsupported, "a block of type -63"},
		{"label", plain(0x0c, 1), Damaged, "label 1, but there are 1"},
		{"label of br_table", plain(0x0e, 0, 1), Damaged, "label 1, but there are 1"},
		{"else", plain(0x05), Damaged, "else without if"},
		{"two elses", plain(0x04, 0x40, 0x05, 0x05, 0x0b), Damaged, "else without if"},
		{"no end", plain(0x02, 0x40), Damaged, "unexpected end"},
		{"two ends", plain(0x0b), Damaged, "1 bytes too many"},
		{"long number", plain(0x41, 0x80, 0x80, 0x80, 0x80, 0x10), Damaged, "more than 32 bits"},
		{"select", code([]byte{0, 0x1c}, huge), Damaged, "types of select"},
		{"br_table", code([]byte{0, 0x41, 0, 0x0e}, huge), Damaged, "targets of br_table"},
		{"branches", plain(append(nested, 0x02, 0x40, 0x0b)...), TooBig, "more than 50000 branches"},
		{"wide br_table", plain(slices.Concat([]byte{0x02, 0x40}, wide, []byte{0x0b})...), TooBig, "more than 50000 branches"},
	} {
		_, err := whole(c.wasm)
		if f, ok := errors.AsType[*Fault](err); !ok || f.Kind != c.kind || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v; want %s, %q", c.name, err, c.kind, c.text)
		}
	}
	for id, what := range map[byte]string{
		SectionType: "types", SectionImport: "imports", SectionFunction: "functions", SectionTable: "tables", SectionMemory: "memories", SectionGlobal: "globals",
		SectionExport: "exports", SectionElement: "element segments", SectionCode: "function bodies", SectionData: "data segments",
	} {
		if _, err := whole(moduleOf(section(id, huge))); err == nil || !strings.Contains(err.Error(), "4294967295 "+what+" are declared, but 0 bytes remain") {
			t.Errorf("section %d: %v", id, err)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	wasm := moduleOf(section(SectionCustom, []byte("\x01a")),
		section(SectionType, []byte{2, 0x60, 0, 0, 0x60, 2, I32, I64, 1, F64}),
		section(SectionImport, []byte{2, 1, 'm', 1, 'f', KindFunc, 1, 1, 'm', 1, 't', KindTable, Externref, 1, 2, 3}),
		section(SectionFunction, []byte{1, 0}), section(SectionTable, []byte{1, Funcref, 0, 9}), section(SectionCustom, []byte("\x01b")),
		section(SectionGlobal, []byte{1, Funcref, 0, 0xd2, 0x81, 0, 0x0b}),
		section(SectionExport, []byte{1, 1, 'e', KindFunc, 1}), section(SectionStart, []byte{1}),
		section(SectionElement, []byte{2, 0, 0x41, 0, 0x0b, 2, 0, 1, 7, Funcref, 1, 0xd2, 1, 0x0b}),
		section(SectionCode, []byte{1, 2, 0, 0x0b}))
	m, err := whole(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := m.Type(0); !ok || f.String() != "(i32 i64) -> (f64)" {
		t.Errorf("imported function of type %s", f)
	}
	if _, ok := m.Type(2); ok {
		t.Error("a function too many")
	}
	if e, ok := m.Export("e"); !ok || e.Index != 1 {
		t.Errorf("export %+v", e)
	}
	if m.Imported != 1 || len(m.Bodies) != 1 || *m.Start != 1 || m.Entries != 3 || m.Segments != 2 || m.Size != len(wasm) {
		t.Errorf("%+v", m)
	}
	if m.Tables[0] != (Table{Externref, Limits{2, 3, true}}) || m.Tables[1] != (Table{Funcref, Limits{9, 1<<32 - 1, false}}) {
		t.Errorf("tables %+v", m.Tables)
	}
	if m.Customs[0].Rank != -1 || m.Customs[1].Rank != slices.Index(Order[:], SectionTable) || m.Customs[1].Name != "b" {
		t.Errorf("custom sections %+v", m.Customs)
	}
	for id, want := range map[int][]Ref{
		SectionGlobal: {{3, 5, 1}}, SectionExport: {{3, 4, 1}}, SectionElement: {{5, 6, 0}, {6, 7, 1}, {11, 12, 1}},
	} {
		if got := m.Sections[id].Refs; !slices.Equal(got, want) {
			t.Errorf("section %d names functions at %v; want %v", id, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for text, bits := range map[string]int{
		"\x80\x80\x80\x80\x08": 32, "\xff\xff\xff\xff\x77": 32, "\xff\xff\xff\xff\x1f": 33, "\x80\x80\x80\x80\x80\x00": 32,
		"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01": 64, "\x80": 64,
	} {
		if r := NewReader([]byte(text)); r.Signed(bits) != 0 || r.Err() == nil {
			t.Errorf("%x is taken as a number of %d bits", text, bits)
		}
	}
	for text, want := range map[string]int64{"\x3f": 63, "\x40": -64, "\x80\x7f": -128, "\xff\xff\xff\xff\x07": 1<<31 - 1, "\x80\x80\x80\x80\x78": -1 << 31} {
		if r := NewReader([]byte(text)); r.Signed(32) != want || r.Err() != nil || !r.Done() {
			t.Errorf("%x is not taken as %d", text, want)
		}
	}
	for text, want := range map[string]uint32{"\x7f": 127, "\x80\x00": 0, "\xff\xff\xff\xff\x0f": 1<<32 - 1} {
		if r := NewReader([]byte(text)); r.U32() != want || r.Err() != nil || !r.Done() {
			t.Errorf("%x is not taken as %d", text, want)
		}
	}
}

// FuzzDecode checks that nothing panics, and that decoding does not read beyond the end.
func FuzzDecode(f *testing.F) {
	f.Add(plain(0x02, 0x40, 0x41, 0, 0x0e, 1, 0, 1, 0x0b, 0x04, 0x40, 0x05, 0x0b, 0xfd, 12))
	f.Add(plain(0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 10, 0, 0, 0xd2, 1, 0x25, 0, 0x11, 0, 0, 0x28, 2, 0, 0x1c, 1, 0x7f))
	f.Add(moduleOf(section(SectionElement, []byte{1, 6, 0, 0x41, 0, 0x0b, 0x70, 1, 0xd0, 0x70, 0x0b}), section(SectionCustom, []byte{1, 'x'})))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := whole(wasm)
		if _, ok := errors.AsType[*Fault](err); err != nil && !ok {
			t.Fatal(err)
		}
		if err == nil && len(m.Types)+len(m.Imports)+len(m.Exports)+m.Globals+m.Entries > len(wasm) {
			t.Fatalf("more than the bytes can hold: %+v", m)
		}
	})
}
