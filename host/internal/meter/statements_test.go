package meter

import "strings"

func (g *generator) store() []byte {
	at := g.address()
	switch t := g.pick("ilfdv"); t {
	case 'i':
		return cat(at, g.value(t, 2), g.pick("\x36\x3a\x3b"), 0, u(g.IntN(300)))
	case 'l':
		return cat(at, g.value(t, 2), g.pick("\x37\x3c\x3d\x3e"), 0, u(g.IntN(300)))
	case 'f':
		return cat(at, g.value(t, 2), 0x38, 0, u(g.IntN(300)))
	case 'd':
		return cat(at, g.value(t, 2), 0x39, 0, u(g.IntN(300)))
	default:
		if g.one(2) {
			lane := 0x58 + g.IntN(4)
			return cat(at, g.value(t, 2), 0xfd, lane, 0, u(g.IntN(300)), g.IntN(16>>(lane-0x58)))
		}
		return cat(at, g.value(t, 2), 0xfd, 0x0b, 0, u(g.IntN(300)))
	}
}

func (g *generator) statements(depth int) (out []byte) {
	for n := g.IntN(2 + 2*depth); n > 0 && g.room > 0; n-- {
		out = cat(out, g.statement(depth))
	}
	return out
}

func (g *generator) statement(depth int) []byte {
	g.room--
	if depth > 0 && g.one(2) {
		return g.nested(depth)
	}
	switch g.IntN(12) {
	case 0, 1:
		t := g.pick("ilfdv")
		if i := g.local(t); i >= 0 {
			return cat(g.value(t, 3), lset(i))
		}
		return cat(g.value(t, 2), 0x1a)
	case 2:
		i := 1 + g.IntN(3)
		return cat(g.value(globals[i], 3), 0x24, i)
	case 3, 4:
		return g.store()
	case 5:
		return g.bulk()
	case 6, 7:
		return g.call()
	case 8, 9:
		d := g.IntN(len(g.labels))
		with := g.labels[len(g.labels)-1-d]
		return cat(g.values(with, 2), g.value('i', 2), 0x0d, d, g.consume(with))
	case 10:
		return g.leave()
	}
	return []byte{0x01}
}

// leave generates an unconditional exit; the code after it is dead.
func (g *generator) leave() []byte {
	var out []byte
	d := g.IntN(len(g.labels))
	with := g.labels[len(g.labels)-1-d]
	switch g.IntN(12) {
	case 0:
		out = []byte{0x00}
	case 1, 2:
		out = cat(g.values(g.labels[0], 2), 0x0f)
	case 3:
		out = cat(g.values(with, 2), g.value('i', 1), 0x0e, 2, d, d, d)
	case 4, 5:
		out = cat(g.values(with, 2), 0x0c, d)
	default:
		return nil
	}
	if g.one(2) { // operands from unreachable code
		out = cat(out, 0x6a, 0x1a, 0x1b, 0x1a, 0x02, 0x40, 0x0b, g.statements(1))
	}
	return out
}

func (g *generator) consume(types string) (out []byte) {
	for i := len(types) - 1; i >= 0; i-- {
		if l := g.local(types[i]); l >= 0 && g.one(2) {
			out = cat(out, lset(l))
		} else {
			out = append(out, 0x1a)
		}
	}
	return out
}

func (g *generator) call() []byte {
	i := g.IntN(len(g.b.funcs))
	params, results, _ := strings.Cut(g.b.funcs[i].typ, ">")
	if g.one(2) {
		return cat(g.values(params, 2), g.index(13), 0x11, g.b.typ(g.b.funcs[i].typ), 0, g.consume(results))
	}
	return cat(g.values(params, 2), 0x10, 1+i, g.consume(results))
}

// nested generates a block, loop or if, perhaps with parameters and results.
func (g *generator) nested(depth int) []byte {
	takes, gives := "", ""
	if g.one(3) {
		takes, gives = g.some("ilfd", 2), g.some("ilfd", 2)
	}
	typ := []byte{0x40}
	if takes != "" || gives != "" {
		typ = u(g.b.typ(takes + ">" + gives))
	}
	before := g.values(takes, 2)
	kind := g.IntN(4)
	if kind == 3 {
		return cat(before, g.consume(takes), g.switched(depth))
	}
	condition := g.value('i', 2)
	label := gives
	if kind == 1 {
		label = takes
	}
	g.labels = append(g.labels, label)
	body := func() []byte { return cat(g.consume(takes), g.statements(depth-1), g.values(gives, 2)) }
	var out []byte
	switch kind {
	case 0:
		out = cat(before, 0x02, typ, body(), 0x0b)
	case 1: // repeat while gas is left
		again := cat(g.values(takes, 1), 0x23, 0, i32c(0), 0x4a, g.value('i', 2), 0x71, 0x0d, 0, g.consume(takes))
		out = cat(before, 0x03, typ, g.gas(), 0x23, 0, i32c(0), 0x48, 0x04, 0x40, 0x00, 0x0b, g.consume(takes), g.statements(depth-1), again, g.values(gives, 2), 0x0b)
	default:
		out = cat(before, condition, 0x04, typ, body(), 0x05, body(), 0x0b)
	}
	g.labels = g.labels[:len(g.labels)-1]
	return cat(out, g.consume(gives))
}

// switched generates a br_table over nested blocks.
func (g *generator) switched(depth int) []byte {
	n := 1 + g.IntN(5)
	var out []byte
	for range n {
		out = cat(out, 0x02, 0x40)
		g.labels = append(g.labels, "")
	}
	out = cat(out, g.value('i', 2), i32c(7), 0x71, 0x0e, n)
	for range n + 1 {
		out = append(out, byte(g.IntN(n)))
	}
	for range n {
		g.labels = g.labels[:len(g.labels)-1]
		out = cat(out, 0x0b, g.statements(depth-1))
	}
	return out
}

func (g *generator) bulk() []byte {
	at, small := g.address(), g.index(2000)
	if g.one(4) {
		small = cat(g.value('i', 1), i32c(0x1ffff), 0x71)
	}
	switch g.IntN(9) {
	case 0, 1:
		return cat(at, g.value('i', 1), small, 0xfc, 11, 0)
	case 2, 3:
		return cat(at, g.address(), small, 0xfc, 10, 0, 0)
	case 4:
		return cat(at, g.index(80), g.index(30), 0xfc, 8, g.IntN(2), 0)
	case 5:
		return cat(g.index(15), g.index(4), g.index(5), 0xfc, 12, g.IntN(2), g.IntN(2))
	case 6:
		return cat(g.index(12), g.index(8), g.index(6), 0xfc, 14, g.IntN(2), g.IntN(2))
	case 7:
		return cat(g.index(20), 0xd2, 1, g.index(6), 0xfc, 17, g.IntN(2))
	}
	if g.one(4) {
		return cat(0xfc, g.pick("\x09\x0d"), g.IntN(2))
	}
	return cat(g.index(20), g.pickBytes(cat(0xd0, 0x70), cat(0xd2, 1)), 0x26, 0)
}
