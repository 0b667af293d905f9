package meter

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// build is a module in parts, for tests with hand-written instructions. Function i of
// funcs has the index len(imports)+i.
type build struct {
	types   []string // "params>results" in letters i l f d v r e
	imports [][]byte
	funcs   []fn
	tables  [][]byte
	memory  []byte // limits; nil if none
	globals [][]byte
	exports [][]byte
	start   int // index; 0: none
	elems   [][]byte
	datas   [][]byte
	customs [][]byte // before the code
}

// rewritten decodes a binary and rewrites it.
func rewritten(binary []byte, o Options) (Result, error) {
	m, err := wasm.Decode(binary)
	if err != nil {
		return Result{}, err
	}
	return Rewrite(m, o)
}

// fn is a function. If it has a name, it is exported under it.
type fn struct {
	name   string
	typ    string
	locals string
	code   []byte // without the end
}

func u(n int) []byte    { return binary.AppendUvarint(nil, uint64(n)) }
func sl(n int64) []byte { return appendSigned(nil, n) }

// cat concatenates bytes, numbers (as one byte each) and texts.
func cat(parts ...any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case byte:
			out = append(out, p)
		case []byte:
			out = append(out, p...)
		case string:
			out = append(out, p...)
		}
	}
	return out
}

func i32c(n int) []byte { return cat(0x41, sl(int64(int32(n)))) }
func i64c(n int) []byte { return cat(0x42, sl(int64(n))) }
func lget(i int) []byte { return cat(0x20, u(i)) }
func lset(i int) []byte { return cat(0x21, u(i)) }
func ltee(i int) []byte { return cat(0x22, u(i)) }

var typeCodes = map[byte]byte{'i': 0x7f, 'l': 0x7e, 'f': 0x7d, 'd': 0x7c, 'v': 0x7b, 'r': 0x70, 'e': 0x6f}

func valTypes(s string) (out []byte) {
	out = u(len(s))
	for i := range len(s) {
		out = append(out, typeCodes[s[i]])
	}
	return out
}

func (b *build) typ(sig string) int {
	if i := slices.Index(b.types, sig); i >= 0 {
		return i
	}
	b.types = append(b.types, sig)
	return len(b.types) - 1
}

func vec(parts [][]byte) []byte { return cat(u(len(parts)), slices.Concat(parts...)) }

func (b *build) bytes() []byte {
	var funcs, code [][]byte
	exports := slices.Clone(b.exports)
	for i, f := range b.funcs {
		funcs = append(funcs, u(b.typ(f.typ)))
		groups := make([][]byte, 0, len(f.locals))
		for j := range len(f.locals) {
			groups = append(groups, []byte{1, typeCodes[f.locals[j]]})
		}
		body := cat(vec(groups), f.code, 0x0b)
		code = append(code, cat(u(len(body)), body))
		if f.name != "" {
			exports = append(exports, cat(text(f.name), 0, u(len(b.imports)+i)))
		}
	}
	var types [][]byte
	for _, sig := range b.types {
		params, results, _ := strings.Cut(sig, ">")
		types = append(types, cat(0x60, valTypes(params), valTypes(results)))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	add := func(id byte, parts [][]byte) {
		if len(parts) > 0 {
			out = appendSection(out, id, vec(parts))
		}
	}
	add(1, types)
	add(2, b.imports)
	add(3, funcs)
	add(4, b.tables)
	if b.memory != nil {
		add(5, [][]byte{b.memory})
	}
	add(6, b.globals)
	add(7, exports)
	if b.start > 0 {
		out = appendSection(out, 8, u(b.start))
	}
	add(9, b.elems)
	if len(b.datas) > 0 {
		out = appendSection(out, 12, u(len(b.datas)))
	}
	for _, c := range b.customs {
		out = appendSection(out, 0, c)
	}
	add(10, code)
	add(11, b.datas)
	return out
}
