package sandbox

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// edit puts with in the place of the bytes from..to of a module.
type edit struct {
	from, to int
	with     []byte
}

// guard gathers the functions that call others, to let each begin with an
// empty loop. The engine looks whether the run is over, and lets the rest of
// the process through, at the head of loops alone: calls that branch without
// one would go on for years, past every deadline, and stop the world with the
// first collection of garbage. A function that calls nothing ends by itself.
type guard struct {
	edits []edit // of the code section, from where its content begins
	at    edit   // the size of the function at hand
	start int    // where its content begins
	grown int    // by how much the section grows
}

func emptyLoop() []byte { return []byte{0x03, 0x40, 0x0b} }

// function begins a function whose size stands at from..to and whose content
// follows.
func (g *guard) function(from, to int, size uint32) {
	g.start = to
	g.at = edit{from, to, binary.AppendUvarint(nil, uint64(size)+uint64(len(emptyLoop())))}
}

// calls says that the function at hand calls another, and where its
// instructions begin.
func (g *guard) calls(instructions int) {
	at := g.start + instructions
	g.edits = append(g.edits, g.at, edit{at, at, emptyLoop()})
	g.grown += len(g.at.with) - (g.at.to - g.at.from) + len(emptyLoop())
}

// place tells where in the module the code section has its size and its
// content.
func (g *guard) place(from, to, size int) {
	if len(g.edits) == 0 {
		return
	}
	for i := range g.edits {
		g.edits[i].from += to
		g.edits[i].to += to
	}
	g.edits = append(g.edits, edit{from, to, binary.AppendUvarint(nil, uint64(size+g.grown))})
}

// prepared gives the bytes that the engine may see: without name sections that
// would mislead it, and with what guard adds.
func (a *anatomy) prepared(wasm []byte) []byte {
	edits := a.guard.edits
	for _, c := range a.cuts {
		edits = append(edits, edit{from: c[0], to: c[1]})
	}
	if len(edits) == 0 {
		return wasm
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	out := make([]byte, 0, len(wasm)+a.guard.grown+binary.MaxVarintLen32)
	from := 0
	for _, e := range edits {
		out = append(append(out, wasm[from:e.from]...), e.with...)
		from = e.to
	}
	return append(out, wasm[from:]...)
}
