package sandbox

import "math"

func (a *anatomy) typeSection(r *reader) {
	n := r.count("types", 3, maxTypes)
	a.types = make([]funcType, 0, n)
	values := 0
	for range n {
		switch form := r.byte(); form {
		case 0x60:
		case 0x4e, 0x50, 0x4f, 0x5f, 0x5e:
			r.fail(Unsupported, "the module needs garbage-collected types, which are not offered")
		default:
			r.fail(Damaged, "a type of an unknown form %#x", form)
		}
		t := funcType{params: valueTypes(r, "parameters", maxParams), results: valueTypes(r, "results", maxResults)}
		if values += len(t.params) + len(t.results); values > maxTypeValues {
			r.fail(TooBig, "types of more than %d parameters and results", maxTypeValues)
		}
		if r.err != nil {
			return
		}
		a.types = append(a.types, t)
	}
}

func valueTypes(r *reader, what string, most int) string {
	n := r.count(what, 1, most)
	s := make([]byte, 0, n)
	for range n {
		s = append(s, valueTypeOf(r))
	}
	return string(s)
}

func valueTypeOf(r *reader) byte {
	c := r.byte()
	if r.err == nil && !valueType(c) {
		r.fail(Unsupported, "a value type %#x that is not offered", c)
	}
	return c
}

func (a *anatomy) importSection(r *reader) {
	n := r.count("imports", 4, maxImports)
	for range n {
		im := imported{module: r.name(), name: r.name(), kind: r.byte()}
		switch im.kind {
		case kindFunc:
			a.addFunc(r)
			if r.err == nil {
				im.typ = a.types[a.funcs[len(a.funcs)-1]]
			}
		case kindTable:
			a.addTable(r)
		case kindMemory:
			a.memoryType(r)
		case kindGlobal:
			a.globalType(r)
		default:
			r.fail(Unsupported, "import %s.%s is of a kind that is not offered (%d)", shorten(im.module), shorten(im.name), im.kind)
		}
		if r.err != nil {
			return
		}
		a.imports = append(a.imports, im)
	}
}

func (a *anatomy) addFunc(r *reader) {
	t := r.u32()
	if r.err == nil && int64(t) >= int64(len(a.types)) {
		r.fail(Damaged, "a function of type %d, but there are %d types", t, len(a.types))
	}
	if r.err == nil {
		a.funcs = append(a.funcs, t)
	}
}

func (a *anatomy) addTable(r *reader) {
	if c := r.byte(); r.err == nil && c != 0x70 && c != 0x6f {
		r.fail(Unsupported, "a table of an element type that is not offered (%#x)", c)
	}
	flags := r.byte()
	if r.err == nil && flags > 1 {
		r.fail(Unsupported, "a table with limits of a kind that is not offered (%#x)", flags)
	}
	t := sizesOf(r, flags)
	if t.min > maxTable {
		r.fail(TooBig, "a table of %d entries; this host takes %d", t.min, maxTable)
	}
	if t.max < t.min {
		r.fail(Damaged, "a table of at least %d and at most %d entries", t.min, t.max)
	}
	a.tables = append(a.tables, t)
	if len(a.tables) > maxTables {
		r.fail(TooBig, "more than %d tables", maxTables)
	}
}

func sizesOf(r *reader, flags byte) sizes {
	s := sizes{min: r.u32(), max: math.MaxUint32, bounded: flags&1 != 0}
	if s.bounded {
		s.max = r.u32()
	}
	return s
}

func (a *anatomy) memoryType(r *reader) sizes {
	flags := r.byte()
	switch {
	case flags&2 != 0:
		r.fail(Unsupported, "a shared memory: threads are not offered")
	case flags&4 != 0:
		r.fail(Unsupported, "a memory with 64-bit addresses, which is not offered")
	case flags > 1:
		r.fail(Damaged, "a memory with unknown limits %#x", flags)
	}
	m := sizesOf(r, flags)
	if m.min > maxPages || m.bounded && m.max > maxPages {
		r.fail(Damaged, "a memory of more than 4 GiB")
	}
	return m
}

func (a *anatomy) globalType(r *reader) {
	valueTypeOf(r)
	if c := r.byte(); r.err == nil && c > 1 {
		r.fail(Damaged, "a global that is neither constant nor variable (%#x)", c)
	}
}

func (a *anatomy) globalSection(r *reader) {
	for n := r.count("globals", 4, maxGlobals); n > 0 && r.err == nil; n-- {
		a.globalType(r)
		constant(r)
		a.globals++
	}
}

func (a *anatomy) exportSection(r *reader) {
	for n := r.count("exports", 3, maxExports); n > 0 && r.err == nil; n-- {
		name := r.name()
		e := exported{kind: r.byte(), index: r.u32()}
		if r.err != nil {
			return
		}
		if _, twice := a.exports[name]; twice {
			r.fail(Damaged, "export %q is there twice", shorten(name))
			return
		}
		a.exports[name] = e
		a.exportOrd = append(a.exportOrd, name)
	}
}

// element passes over one element segment; its flags say which parts it has.
func (a *anatomy) element(r *reader) {
	flags := r.u32()
	if flags > 7 {
		r.fail(Damaged, "an element segment of an unknown kind %d", flags)
		return
	}
	passive, explicit, exprs := flags&1 != 0, flags&2 != 0, flags&4 != 0
	if !passive {
		if explicit {
			r.u32()
		}
		constant(r)
	}
	if passive || explicit {
		r.byte() // kind of the elements
	}
	n := r.count("elements", 1, maxEntries)
	a.entries += n
	if a.entries > maxEntries {
		r.fail(TooBig, "element segments of more than %d entries", maxEntries)
	}
	for ; n > 0 && r.err == nil; n-- {
		if exprs {
			constant(r)
		} else {
			r.u32()
		}
	}
}

func (a *anatomy) data(r *reader) {
	switch flags := r.u32(); flags {
	case 0:
		constant(r)
	case 1:
	case 2:
		r.u32()
		constant(r)
	default:
		r.fail(Damaged, "a data segment of an unknown kind %d", flags)
	}
	r.take(r.u32())
}

// constant passes over the expression that gives a global, an offset or an
// element its first value.
func constant(r *reader) {
	for steps := 0; r.err == nil; steps++ {
		if steps > 16 {
			r.fail(TooBig, "a constant expression of more than 16 steps")
			return
		}
		switch op := r.byte(); op {
		case 0x0b:
			return
		case 0x41:
			r.signed(32)
		case 0x42:
			r.signed(64)
		case 0x43:
			r.skip(4)
		case 0x44:
			r.skip(8)
		case 0x23, 0xd2: // global.get, ref.func
			r.u32()
		case 0xd0: // ref.null
			r.byte()
		case 0xfd: // v128.const
			if r.u32() != 12 {
				r.fail(Damaged, "a vector instruction in a constant expression")
			}
			r.skip(16)
		default:
			if r.err == nil {
				r.fail(Unsupported, "instruction %#x in a constant expression is not offered", op)
			}
		}
	}
}

// customSection notes the names of sections that mean nothing to Wasm. The
// engine reads one of them, the list of names; meter drops it if it lies.
func (a *anatomy) customSection(r *reader) error {
	name := r.name()
	if r.err != nil { // the engine would make room for whatever length it claims
		return r.err
	}
	if len(a.custom) < 64 {
		a.custom = append(a.custom, name)
	}
	return nil
}
