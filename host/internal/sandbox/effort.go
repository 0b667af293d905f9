package sandbox

import (
	"math"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// What compiling costs beyond the size of the code. The engine follows every
// variable and every value on the stack through all parts of a function that
// it lives in, and looks for the way from each part back to the entry: a few
// kilobytes of code can keep it busy for hours. So the check follows them
// too, roughly, and adds up what the engine will have to do. It does so in the
// metered code, which is what the engine gets: looks at the balance are loops,
// and each is dearer than the instructions around it.
//
// The figures are nanoseconds and bytes as measured, so the bounds mean about
// what they say.
const (
	nsWay      = 40    // one step on the way from a part to the entry
	nsLocal    = 4_000 // a variable passing from one part to the next
	nsStack    = 250   // a value on the stack doing so
	nsFunc     = 4_000 // a function, however small
	nsCode     = 100   // a byte of machine code
	nsReload   = 100   // a variable of the module, for each call
	nsGlobal   = 3     // a global or import, for each function
	nsPass     = 700   // a value that a jump takes along
	nsKnown    = 20    // a place in memory that was looked at before, in each part
	nsBack     = 10    // a part on the way back round a loop, for each of its variables
	nsHeld     = 3     // a value there when a loop began, in each part behind that
	nsMerge    = 1     // two variables of a loop, for each way to its begin
	nsTarget   = 5_000 // a target of br_table, which is a part of its own,
	perTargets = 8     // and this many other ones of that br_table are a nanosecond more

	bytesPart   = 5 << 10
	bytesTarget = 3 << 10
	bytesLive   = 150  // a variable passing from one part to the next
	bytesLocal  = 450  // that a jump takes along
	bytesRound  = 1100 // a variable that a jump takes to the begin of a loop
	bytesPassed = 450  // a value that a jump takes along
	bytesStack  = 25
	bytesKnown  = 24
	bytesHeld   = 15
	bytesParam  = 200 // of a call
	bytesResult = 750
	bytesReload = 180 // a variable of the module, which is loaded again after each call

	maxEffort    = 4_000_000_000 // nanoseconds, of one function, beside those of its machine code; sound ones need a tenth
	maxLoad      = 512 << 20     // bytes that the compiler needs for one function; sound ones need a third
	effortAll    = 4_000_000_000 // nanoseconds, of all functions,
	effortOfByte = 6_000         // and more by the byte of the code
)

// block is a block, loop or if that is open, or the function itself.
type block struct {
	loop, undecided bool // undecided: an if whose else has not come
	dead            bool // begins where nothing can come to
	base            int  // values on the stack below it
	params, results int
	way             int // length of the way to where it begins
	shortest        int // least way from which its end is reached
	part            int // at its begin, targets of br_table not counted
	inLoop          int // part at which the innermost loop around it begins, itself included; -1: none
	exposed         int // length of walk.exposed at its begin
	knew, knows     int // places known at its begin, and at least at its end
	had, has        int // values held at its begin, and at least at its end
	floor           int // walk.floor at its begin
	held, own       int // variables of around it that were found to be held in it, and those of right around it
	backs, turns    int // jumps to the begin of the loop, and how many parts they go back
	arm             int // number of the block, or of its half behind else, among all of the function
}

const nowhere = math.MaxInt

// variable is what is known of a local. Its value comes from where it was last
// set, if all flow passes there; else from several places, and is handed on at
// each end of a block since.
type variable struct {
	met    int  // part in which it was last read or set,
	seen   int  // and how many of those up to there were no targets of br_table
	set    int  // part in which it got the value that it has,
	depth  int  // in this block,
	arm    int  // of this number, until whose end that holds
	held   int  // part in which it was last read while that held
	handed int  // part up to which handing on is paid for
	heads  int  // loops that had begun when it got the value
	pinned bool // it counts as held
}

// arrival is a jump to the end of a block that is still open.
type arrival struct{ depth, part int }

// exposure is a variable whose value comes into a loop from before it.
type exposure struct{ local, since int }

// walk passes over the instructions of a function and knows what makes
// compiling expensive.
type walk struct {
	wasm.Code

	p       *price
	blocks  []block
	dead    bool // nothing comes to this instruction
	height  int  // values on the stack
	part    int  // straight pieces of code so far,
	targets int  // of br_table among them
	way     int  // parts from the entry to here that all flow passes through
	vars    []variable
	lives   []int     // by part, how many more variables live in it than in the one before
	ahead   []arrival // the latest jump to each open block or one around it, where no block further out has a later one
	arms    int
	exposed []exposure
	known   int // places in memory that were looked at on the way here
	holds   int // values that were there when a loop began that all flow to here passed: the compiler takes them for needed
	floor   int // values on the stack that were there when the last one began
	heads   int // loops that have begun
	loops   int // that are open
	deepest int // most that were
	merges  int // what bringing together the variables of all loops takes once

	passed       int
	effort, load int
	native       int // bytes of machine code
	fresh        int // height above a value that was just made; 0: none
}

func (w *walk) begin(body int) {
	w.BeginBody(w.p.Module, body)
	*w = walk{
		Code: w.Code, p: w.p, blocks: w.blocks[:0], exposed: w.exposed[:0], ahead: w.ahead[:0], lives: w.lives[:0],
		vars: slices.Grow(w.vars[:0], w.Locals)[:w.Locals],
	}
	clear(w.vars)
	typ, _ := w.p.Type(uint32(w.p.Imported + body))
	w.effort = nsGlobal * (w.p.Globals + len(w.p.Imports))
	w.blocks = append(w.blocks, block{results: len(typ.Results), shortest: nowhere, knows: nowhere, inLoop: -1})
}

// called is what each call takes beside what it moves: any variable of the
// module may have changed.
func (w *walk) called() { w.cost(nsReload*w.p.MutableGlobals, bytesReload*w.p.MutableGlobals) }

// cost adds what one thing takes to what the whole function takes.
func (w *walk) cost(ns, bytes int) {
	if w.dead {
		return
	}
	w.effort += ns
	w.load += bytes
	if w.load > maxLoad || w.effort > maxEffort {
		w.Fail(wasm.TooBig, "the function would take too much time or memory to compile")
	}
}

// split begins another part, into which all values on the stack pass, and all
// that is known of the memory.
func (w *walk) split() {
	if w.dead {
		return
	}
	w.through()
	w.cost(0, bytesPart)
	w.emit(codePart)
}

// through is the same for a part that has its price with the instruction that
// makes it.
func (w *walk) through() {
	w.part++
	w.way++
	w.cost(nsWay*w.way+nsStack*w.height+nsKnown*w.known, bytesStack*w.height+bytesKnown*w.known)
	w.cost(nsHeld*w.holds, bytesHeld*w.holds)
	w.emit(codeKept * min(w.height, registers))
}

// move takes values from the stack and puts others there.
func (w *walk) move(pops, pushes int) {
	top := &w.blocks[len(w.blocks)-1]
	w.height = max(w.height-pops, top.base)
	w.floor = min(w.floor, w.height)
	w.height += pushes
}

// stop says that what follows is not reached from here.
func (w *walk) stop() {
	w.dead = true
	w.height = w.blocks[len(w.blocks)-1].base
	w.floor = min(w.floor, w.height)
}

func (w *walk) enter() {
	params, results := int(w.A), int(w.B)
	if w.Op == wasm.OpIf {
		w.move(1, 0)
	}
	b := block{
		loop: w.Op == wasm.OpLoop, undecided: w.Op == wasm.OpIf, dead: w.dead, params: params, results: results,
		base: max(w.height-params, w.blocks[len(w.blocks)-1].base), way: w.way, shortest: nowhere,
		knew: w.known, knows: nowhere, had: w.holds, has: nowhere, floor: w.floor,
		inLoop: w.blocks[len(w.blocks)-1].inLoop, exposed: len(w.exposed), arm: w.newArm(),
	}
	if b.loop {
		w.heads++
		w.holds += w.height - w.floor
		w.floor = w.height
	}
	if w.Op != wasm.OpBlock {
		w.split()
	}
	b.part = w.seen()
	if b.loop {
		b.inLoop = w.part
		w.loops++
		w.deepest = max(w.deepest, w.loops)
	}
	w.blocks = append(w.blocks, b)
	if b.undecided {
		w.note(len(w.blocks) - 1)
	}
}

// jump goes to the end of a block around this instruction, or to the begin of
// a loop.
func (w *walk) jump(depth uint32) {
	if w.dead {
		return
	}
	i := len(w.blocks) - 1 - int(depth)
	b := &w.blocks[i]
	if b.loop {
		b.backs++
		b.turns += w.seen() - b.part
		w.arrive(b.params, codeRound)
		return
	}
	if i == 0 {
		w.emit(codeReturn)
	}
	w.note(i)
	b.shortest, b.knows, b.has = min(b.shortest, w.way), min(b.knows, w.known), min(b.has, w.holds)
	w.arrive(b.results, codeMoveWide)
}

// note remembers that a jump goes to the end of a block.
func (w *walk) note(depth int) {
	for n := len(w.ahead); n > 0 && w.ahead[n-1].depth >= depth; n-- {
		w.ahead = w.ahead[:n-1]
	}
	w.ahead = append(w.ahead, arrival{depth, w.part})
}

// arrive is the end of a part, with values that go on.
func (w *walk) arrive(values, each int) {
	w.cost(nsWay*w.way+nsPass*values, bytesPassed*values)
	w.emit(each * values)
}

func (w *walk) newArm() int {
	w.arms++
	return w.arms
}

func (w *walk) otherwise() {
	b := &w.blocks[len(w.blocks)-1]
	w.jump(0)
	b.undecided = false
	b.arm = w.newArm()
	w.dead, w.height, w.way, w.known, w.holds = b.dead, b.base+b.params, b.way, b.knew, b.had+b.held
	w.floor = min(w.floor, b.floor, b.base)
	w.split()
}

func (w *walk) leave() {
	b := &w.blocks[len(w.blocks)-1]
	switch {
	case b.loop && !w.dead:
		b.shortest = w.way
		b.knows, b.has = w.known, w.holds
	case b.undecided && !b.dead:
		b.shortest, b.knows, b.has = min(b.shortest, b.way), min(b.knows, b.knew), min(b.has, b.had)
	}
	if b.loop {
		w.arrive(b.results, codeMoveWide)
		w.goRound(b)
	} else {
		w.jump(0)
	}
	// Code after a block that nothing leaves is compiled all the same.
	w.dead, w.height = b.dead, b.base+b.results
	w.way = b.way
	if b.shortest != nowhere {
		w.way, w.known, w.holds = b.shortest, b.knows, b.has+b.held
	}
	w.floor = min(w.floor, b.base)
	if !b.loop {
		w.floor = min(w.floor, b.floor)
	}
	held := b.held - b.own
	w.blocks = w.blocks[:len(w.blocks)-1]
	if len(w.blocks) > 0 {
		w.blocks[len(w.blocks)-1].held += held
	}
	if n := len(w.ahead); n > 0 && w.ahead[n-1].depth == len(w.blocks) {
		w.ahead = w.ahead[:n-1]
	}
	if len(w.blocks) > 0 {
		w.split()
	}
}

// goRound carries the variables that a loop has from before it to its end,
// from where they come to its begin again.
func (w *walk) goRound(b *block) {
	w.loops--
	n := len(w.exposed) - b.exposed + b.params
	w.cost(nsBack*n*b.turns, 0)
	w.cost(nsMerge*n*n*(1+b.backs), 0)
	w.merges += nsMerge * n * n * (1 + b.backs)
	w.emit(codeRound * b.params)
	around := w.blocks[max(len(w.blocks)-2, 0)].inLoop
	kept := w.exposed[:b.exposed]
	for _, e := range w.exposed[b.exposed:] {
		if w.Err() != nil {
			return
		}
		passed := w.seen() - w.vars[e.local].seen
		w.cost(nsLocal*(1+passed), bytesLive*(1+passed)+bytesRound*(2+b.backs))
		w.emit(going(w.Kinds[e.local]) * (2 + b.backs))
		w.hold(&w.vars[e.local])
		w.keep(&w.vars[e.local])
		if e.since < around {
			kept = append(kept, e)
		}
	}
	w.exposed = kept
}

// end counts what is done once for each loop in another: the variables of
// loops are brought together until nothing changes any more, and what changes
// in an inner one may change the next.
func (w *walk) end() {
	w.cost(w.merges*w.deepest, 0)
	n := 0
	for _, more := range w.lives {
		n += more
		w.native += codeKept * min(n, registers)
	}
}
