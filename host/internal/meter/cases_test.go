package meter

import (
	"slices"
	"strings"
	"testing"
)

func calls(name string, args ...uint64) []call {
	out := make([]call, 0, len(args))
	for _, a := range args {
		out = append(out, call{name, []uint64{a}})
	}
	return out
}

// countDown runs code in a loop, as many times as local 0 says.
func countDown(inside ...any) []byte {
	return cat(0x02, 0x40, 0x03, 0x40, lget(0), 0x45, 0x0d, 1, cat(inside...), lget(0), i32c(1), 0x6b, lset(0), 0x0c, 0, 0x0b, 0x0b)
}

// controlCases are modules for each construct of control flow.
func controlCases() map[string]struct {
	b     *build
	calls []call
} {
	type c = struct {
		b     *build
		calls []call
	}
	one := func(typ, locals string, code ...any) *build {
		return &build{memory: []byte{0, 1}, funcs: []fn{{"f", typ, locals, cat(code...)}}}
	}
	multi := one("i>i", "")
	// A block of (i32 i32) -> (i32 i32), left early or not, and a loop with a parameter.
	pair, step := multi.typ("ii>ii"), multi.typ("i>i")
	multi.funcs[0].code = cat(lget(0), i32c(5), 0x02, u(pair), lget(0), i32c(3), 0x46, 0x0d, 0, 0x6a, i32c(9), 0x0b, 0x6c,
		0x03, u(step), i32c(1), 0x6b, ltee(0), lget(0), i32c(0), 0x4a, 0x0d, 0, 0x0b)

	sum := one("i>i", "ii", countDown(lget(1), lget(0), 0x6a, lset(1)), lget(1))
	table := one("i>i", "i",
		0x02, 0x40, 0x02, 0x40, 0x02, 0x40, lget(0), 0x0e, 3, 0, 1, 2, 0, 0x0b, i32c(10), lset(1), 0x0c, 1, 0x0b, i32c(20), lset(1), 0x0b, lget(1), i32c(1), 0x6a)
	dead := one("i>i", "",
		0x02, 0x7f, lget(0), 0x04, 0x40, i32c(7), 0x0c, 1, 0x6a, 0x1a, 0x02, 0x40, 0x0c, 0, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b, 0x05, 0x00, 0x10, 0, 0x1a, 0x0b,
		lget(0), 0x0f, 0x1b, 0x0b)
	ifs := one("i>i", "i",
		lget(0), i32c(1), 0x71, 0x04, 0x40, i32c(100), lset(1), 0x0b,
		lget(0), i32c(2), 0x71, 0x04, 0x7f, i32c(5), 0x05, lget(0), i32c(4), 0x46, 0x04, 0x40, i32c(1), 0x0f, 0x0b, i32c(6), 0x0b,
		lget(1), 0x6a)

	far := one("i>i", "", lget(0), 0x45, 0x04, 0x40, i32c(1), 0x0f, 0x0b, lget(0), i32c(1), 0x6b, lget(0), i32c(3), 0x71, 0x11, 0, 0)
	far.typ("i>i")
	far.funcs = append(far.funcs, fn{"", "i>i", "", cat(lget(0), 0x10, 0, i32c(1), 0x6a)}, fn{"", "l>i", "", i32c(0)})
	far.tables = [][]byte{{0x70, 1, 4, 9}}
	far.elems = [][]byte{cat(0, i32c(0), 0x0b, 3, 0, 1, 0)}

	recursive := one("i>l", "", lget(0), i32c(2), 0x48, 0x04, 0x7e, i64c(1), 0x05, lget(0), i32c(1), 0x6b, 0x10, 0, lget(0), i32c(2), 0x6b, 0x10, 0, 0x7c, 0x0b)

	imports := one("i>i", "", lget(0), 0x10, 0, lget(0), 0x10, 2, 0x6a)
	imports.imports = [][]byte{cat(text("env"), text("odd"), 0, u(imports.typ("i>i")))}
	imports.funcs = append(imports.funcs, fn{"h", "i>i", "", cat(lget(0), 0x10, 0, i32c(3), 0x6c)})
	imports.exports = [][]byte{cat(text("odd"), 0, 0), cat(text("memory"), 2, 0)}

	start := one("i>i", "", 0x23, 0, lget(0), 0x6a)
	start.globals = [][]byte{cat(0x7f, 1, i32c(4), 0x0b), cat(0x70, 0, 0xd2, 0, 0x0b)}
	start.funcs = append(start.funcs, fn{"", ">", "i", cat(i32c(50), lset(0), countDown(0x23, 0, i32c(3), 0x6a, 0x24, 0))})
	start.start = 1
	start.exports = [][]byte{cat(text("g0"), 3, 0), cat(text("memory"), 2, 0)}
	bad := one("i>i", "", lget(0))
	bad.funcs = append(bad.funcs, fn{"", ">", "", cat(0x00)})
	bad.start = 1

	refs := one("i>i", "", lget(0), i32c(1), lget(0), 0x25, 1, 0x26, 0, lget(0), 0x11, 0, 0)
	refs.types = []string{">i"}
	refs.funcs = append(refs.funcs, fn{"", ">i", "", i32c(11)}, fn{"", ">i", "", i32c(22)}, fn{"", ">i", "", i32c(33)},
		fn{"g", "i>i", "", cat(0xd2, 2, 0xd1, lget(0), 0xd0, 0x70, 0xd1, 0x6a, 0x6a)})
	refs.funcs[0].code = cat(lget(0), 0xd2, 3, 0x26, 0, lget(0), 0x11, 0, 0)
	refs.tables = [][]byte{{0x70, 0, 3}, {0x6f, 0, 2}}
	refs.elems = [][]byte{
		cat(4, i32c(0), 0x0b, 2, 0xd2, 1, 0x0b, 0xd0, 0x70, 0x0b), // expressions
		cat(3, 0, 2, 2, 3),                                  // declared
		cat(1, 0, 1, 1),                                     // passive
		cat(2, 0, i32c(1), 0x0b, 0, 1, 2),                   // explicit table
		cat(5, 0x70, 1, 0xd2, 3, 0x0b),                      // passive, expressions
		cat(6, 1, i32c(0), 0x0b, 0x6f, 1, 0xd0, 0x6f, 0x0b), // another table
		cat(7, 0x70, 1, 0xd2, 2, 0x0b),                      // declared, expressions
	}

	traps := one("i>i", "",
		0x02, 0x40, 0x02, 0x40, 0x02, 0x40, 0x02, 0x40, 0x02, 0x40, lget(0), 0x0e, 4, 0, 1, 2, 3, 4, 0x0b,
		i32c(0), i32c(1), 0x36, 2, 0, i32c(8), i32c(0), 0x6d, 0x0f, 0x0b,
		i32c(4), i32c(1), 0x36, 2, 0, 0x00, 0x0b,
		i32c(8), i32c(1), 0x36, 2, 0, i32c(65533), 0x28, 2, 0, 0x0f, 0x0b,
		i32c(12), i32c(1), 0x36, 2, 0, 0x43, 0, 0, 0x80, 0x7f, 0xa8, 0x0f, 0x0b,
		i32c(1))
	misc := one("i>i", "v",
		lget(0), 0xb2, 0xfc, 0, lget(0), 0xc0, 0x6a, lget(0), 0xfd, 0x11, 0xfd, 0x0c, string(make([]byte, 15)), 3, 0xfd, 0xae, 1, lset(1),
		i32c(16), lget(1), 0xfd, 0x0b, 4, 0, i32c(20), lget(1), 0xfd, 0x58, 0, 0, 3, lget(1), 0xfd, 0x1b, 3, 0x6a, lget(0), lget(0), lget(0), 0x1c, 1, 0x7f, 0x6a)

	all := map[string]c{
		"sum":        {sum, calls("f", 0, 1, 1000)},
		"multi":      {multi, calls("f", 3, 7, 0)},
		"br_table":   {table, calls("f", 0, 1, 2, 3, 1<<31)},
		"dead":       {dead, calls("f", 0, 1)},
		"ifs":        {ifs, calls("f", 0, 1, 2, 3, 4)},
		"indirect":   {far, calls("f", 0, 40, 41, 3, 2)},
		"recursive":  {recursive, calls("f", 12)},
		"imports":    {imports, append(calls("f", 5), calls("h", 6)...)},
		"start":      {start, calls("f", 1)},
		"start trap": {bad, calls("f", 1)},
		"references": {refs, append(calls("f", 0, 1, 2, 3), calls("g", 0)...)},
		"traps":      {traps, calls("f", 0, 1, 2, 3, 4, 5)},
		"misc":       {misc, calls("f", 0, 1, 1<<31, 300)},
	}
	for _, k := range all {
		if k.b.exports == nil {
			k.b.exports = [][]byte{cat(text("memory"), 2, 0)}
		}
	}
	return all
}

func TestControl(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for name, c := range controlCases() {
		o := l.same(c.b.bytes(), c.calls...)
		switch {
		case name == "start trap" && !strings.Contains(o.seen[0], "unreachable"):
			t.Errorf("%s: %q", name, o.seen)
		case name != "start trap" && o.fuel == 0:
			t.Errorf("%s: no fuel", name)
		case name == "traps" && !slices.ContainsFunc(o.seen, func(s string) bool { return strings.Contains(s, "divide") }):
			t.Errorf("%s: %q", name, o.seen)
		case name == "recursive" && !strings.Contains(o.seen[0], "0xe9"):
			t.Errorf("%s: %q", name, o.seen)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// bulkModule has a memory of four pages and tables of 30000 entries, each filled with a
// pattern, and one export per instruction that operates on a range.
func bulkModule() *build {
	b := &build{memory: []byte{1, 4, 8}, tables: [][]byte{cat(0x70, 1, u(25_000), u(50_000)), cat(0x70, 0, u(17_000)), cat(0x6f, 0, u(9_000))}}
	b.exports = [][]byte{cat(text("memory"), 2, 0)}
	args := cat(lget(0), lget(1), lget(2))
	add := func(name, typ string, code ...any) { b.funcs = append(b.funcs, fn{name, typ, "", cat(code...)}) }
	add("", ">i", i32c(1))
	add("", ">i", i32c(2))
	add("fill", "iii>", args, 0xfc, 11, 0)
	add("copy", "iii>", args, 0xfc, 10, 0, 0)
	add("init", "iii>", args, 0xfc, 8, 1, 0)
	add("small", "iii>", args, 0xfc, 8, 0, 0)
	add("drop", "iii>", 0xfc, 9, 1, 0xfc, 13, 1)
	add("grow", "iii>i", lget(0), 0x40, 0)
	add("size", "iii>i", 0x3f, 0)
	add("tfill", "iii>", lget(0), 0xd2, 1, lget(2), 0xfc, 17, 0)
	add("tnull", "iii>", lget(0), 0xd0, 0x70, lget(2), 0xfc, 17, 0)
	add("efill", "iii>", lget(0), 0xd0, 0x6f, lget(2), 0xfc, 17, 2)
	add("tcopy", "iii>", args, 0xfc, 14, 0, 0)
	add("tmove", "iii>", args, 0xfc, 14, 1, 0)
	add("tinit", "iii>", args, 0xfc, 12, 1, 0)
	add("tgrow", "iii>i", 0xd2, 0, lget(0), 0xfc, 15, 0)
	add("tsize", "iii>i", 0xfc, 16, 0)
	// A number that identifies all entries of both tables.
	b.funcs = append(b.funcs, fn{"look", "iii>l", "l", cat(
		countDown(lget(3), i64c(31), 0x7e, lget(0), i32c(1), 0x6b, 0x25, 0, 0xd1, 0xad, 0x7c, lset(3)),
		lget(1), lset(0),
		countDown(lget(3), i64c(31), 0x7e, lget(0), i32c(1), 0x6b, 0x25, 1, 0xd1, 0xad, 0x7c, lset(3)),
		lget(3))})
	data := make([]byte, 150_000)
	refs := cat(1, 0, u(17_000))
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	for i := range 17_000 {
		refs = append(refs, byte(i%2))
	}
	nulls := cat(5, 0x70, u(17_000))
	for i := range 17_000 {
		if i*i%7 < 3 {
			nulls = append(nulls, 0xd0, 0x70, 0x0b)
		} else {
			nulls = append(nulls, 0xd2, byte(i%2), 0x0b)
		}
	}
	b.elems = [][]byte{refs, nulls}
	b.datas = [][]byte{cat(1, 3, "abc"), cat(1, u(len(data)), data)}
	return b
}

func TestBulk(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	wasm := bulkModule().bytes()
	do := func(name string, args ...int) call {
		c := call{name: name, args: []uint64{0, 0, 0}}
		for i, a := range args {
			c.args[i] = uint64(uint32(a))
		}
		return c
	}
	const size = 4 << 16
	look := do("look", 25_000, 17_000)
	begin := []call{do("init", 1000, 0, 150_000), do("tinit", 5, 0, 17_000)}
	for _, c := range [][]call{
		{do("fill", 0, 1, 0), do("fill", size, 1, 0), do("fill", size+1, 1, 0), do("fill", -1, 1, 0)},
		{do("fill", 3, 0x1ff, 65536), do("fill", 70_000, 2, 65537)},
		{do("fill", 0, 7, size), do("fill", 0, 7, size+1), do("fill", 1, 8, size)},
		{do("fill", 1, 7, -1), do("fill", -1, 7, -1), do("fill", 65536, 7, -65536), do("fill", size-5, 9, 5), do("fill", size-5, 9, 6)},
		{do("copy", 1001, 1000, 150_000)}, {do("copy", 1000, 1001, 150_000)}, {do("copy", 66_536, 1000, 150_000)},
		{do("copy", 1000, 66_536, 190_000)}, {do("copy", 1000, 1000, 200_000)}, {do("copy", 0, 100_000, 65536)}, {do("copy", 100_000, 0, 65537)},
		{do("copy", size, size, 0), do("copy", size+1, 0, 0), do("copy", 0, size+1, 0)},
		{do("copy", 0, 1, size), do("copy", 1, 0, size), do("copy", -1, -1, -1), do("copy", 0, 0, size)},
		{do("init", 0, 1, 149_999), do("init", 0, 1, 150_000), do("init", size-100_000, 50_000, 100_000)},
		{do("init", size-100_000, 0, 100_001), do("init", 0, 150_000, 0), do("init", 0, 150_001, 0), do("init", size, 0, 0), do("init", size+1, 0, 0)},
		{do("init", 0, -1, 100_000), do("init", -1, 0, 100_000), do("init", -1, -1, -1)},
		{do("small", 9, 0, 3), do("small", 9, 1, 3), do("small", 9, 0, 100_000)},
		{do("drop"), do("init", 0, 0, 0), do("init", 5, 0, 1), do("init", 5, 0, 100_000), do("tinit", 5, 0, 0), do("tinit", 5, 0, 1), do("tinit", 5, 0, 9_000), look},
		{do("grow", 0), do("grow", 1), do("size"), do("grow", 4), do("size"), do("grow", -1), do("fill", size, 3, 65536), do("grow", 3), do("fill", 0, 1, 2*size)},
		{do("tfill", 10, 0, 17_000), look}, {do("tnull", 0, 0, 25_000), look, do("tnull", 1, 0, 25_000), do("tnull", 25_000), do("tnull", 25_001), do("tnull", -1, 0, -1)},
		{do("tfill", 1, 0, -1), look, do("efill", 0, 0, 9_000), do("efill", 1, 0, 9_000), do("efill", 0, 0, 8_193)},
		{do("tcopy", 6, 5, 17_000), look}, {do("tcopy", 5, 6, 17_000), look}, {do("tcopy", 9_000, 5, 17_000), look}, {do("tcopy", 5, 9_000, 17_000), look},
		{do("tcopy", 0, 8_000, 17_000), do("tcopy", 0, 8_001, 17_000), do("tcopy", 8_001, 0, 17_000), do("tcopy", 25_000, 25_000, 0), do("tcopy", 25_001, 0, 0), look},
		{do("tmove", 0, 8_000, 17_000), look}, {do("tmove", 3, 5, 16_997), look, do("tmove", 4, 5, 16_997), look, do("tmove", -1, -1, -1)},
		{do("tinit", 0, 0, 17_001), do("tinit", 0, 1, 17_000), do("tinit", 8_001, 0, 17_000), look, do("tinit", 8_000, 0, 17_000), look, do("tinit", -1, -1, -1)},
		{do("tgrow", 0), do("tgrow", 5_000), do("tsize"), do("tgrow", 17_000), do("tgrow", -1), do("tgrow", 20_000), do("tsize"), do("tgrow", 1)},
	} {
		l.same(wasm, slices.Concat(begin, c)...)
		if t.Failed() {
			t.Fatalf("%v", c)
		}
	}
}
