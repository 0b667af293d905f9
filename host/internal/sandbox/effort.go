package sandbox

import (
	"math"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Cost of compiling beyond the size of the code. The compiler follows each variable
// and each stack value through all parts (basic blocks) of a function in which it is
// live, and searches a path from each part back to the entry: a few kilobytes of code
// can take hours. The estimate follows them roughly and adds up the work. It reads the
// metered code, which is what the engine compiles: balance checks are loops, which
// cost more than the instructions around them.
//
// The figures are measured nanoseconds and bytes, so the limits are roughly real
// times and sizes.
const (
	nsPath     = 40    // a step on the path from a part to the entry
	nsLocal    = 4_000 // a variable live from one part to the next
	nsStack    = 250   // a stack value live from one part to the next
	nsFunc     = 4_000 // a function, however small
	nsCode     = 100   // a byte of machine code
	nsReload   = 100   // a mutable global, per call
	nsGlobal   = 3     // a global or import, per function
	nsPass     = 700   // a value passed by a jump
	nsKnown    = 20    // a known memory address, per part
	nsLoopBack = 10    // a part of a loop, per variable of the loop
	nsHeld     = 3     // a held value, per part
	nsMerge    = 1     // a pair of variables of a loop, per jump to its begin
	nsTarget   = 5_000 // a target of br_table, which is a part of its own
	perTargets = 8     // this many other targets of the same br_table add a nanosecond

	bytesPart   = 5 << 10
	bytesTarget = 3 << 10
	bytesLive   = 150  // a variable live from one part to the next
	bytesLocal  = 450  // a variable passed by a jump
	bytesLoop   = 1100 // a variable passed to the begin of a loop
	bytesPassed = 450  // a value passed by a jump
	bytesStack  = 25
	bytesKnown  = 24
	bytesHeld   = 15
	bytesParam  = 200 // of a call
	bytesResult = 750
	bytesReload = 180 // a mutable global, which is loaded again after each call

	maxEffort    = 4_000_000_000 // nanoseconds, of one function, besides its machine code; normal ones need a tenth
	maxLoad      = 512 << 20     // bytes of memory for compiling one function; normal ones need a third
	effortAll    = 4_000_000_000 // nanoseconds, of all functions,
	effortOfByte = 6_000         // plus this many per byte of code
)

// block is an open block, loop or if, or the function itself.
type block struct {
	loop, undecided          bool // undecided: an if without its else so far
	dead                     bool // its begin is unreachable
	base                     int  // height of the stack below it
	params, results          int
	pathLength               int // walk.pathLength at its begin
	shortest                 int // shortest path to its end
	part                     int // at its begin, without targets of br_table
	inLoop                   int // part at which the innermost loop begins, itself included; -1: none
	loopInputs               int // number of walk.loopInputs at its begin
	knownAtBegin, knownAtEnd int // known addresses at its begin, and at least at its end
	heldAtBegin, heldAtEnd   int // held values at its begin, and at least at its end
	floor                    int // walk.floor at its begin
	held, heldOfParent       int // outer variables that became held in it, and those of the direct parent
	backJumps, backParts     int // jumps to the begin of the loop, and the parts that they go back
	id                       int // unique in the function; the part after else has its own
}

const unreached = math.MaxInt

// variable is the state of a local. If all paths pass the place where it was last
// set, its value comes from there. Otherwise the value is passed on at each end of a
// block since then.
type variable struct {
	lastUse      int  // part in which it was last read or set
	lastUseSeen  int  // the same, without targets of br_table
	set          int  // part in which it got its value
	depth        int  // depth of the block in which it did
	blockID      int  // id of that block; the value is definite until the block ends
	held         int  // part in which it was last read while definite
	passedOnUpTo int  // part up to which passing on is paid for
	loopsBegun   int  // walk.loopsBegun when it got its value
	isHeld       bool // counted in walk.heldValues
}

// blockJump is a jump to the end of an open block.
type blockJump struct{ depth, part int }

// loopInput is a variable that a loop reads with a value from before the loop.
type loopInput struct{ local, since int }

// costWalk walks through the instructions of a function and adds up the cost of
// compiling them.
type costWalk struct {
	wasm.Code

	cost           *compileCost
	blocks         []block
	dead           bool // this instruction is unreachable
	height         int  // of the stack
	part           int  // number of parts so far
	targets        int  // targets of br_table among the parts
	pathLength     int  // parts from the entry to here that every path passes
	vars           []variable
	liveChanges    []int       // by part: live variables more than in the part before
	latestJumps    []blockJump // latest jumps to open blocks, outermost first, each later than those before it
	blockIDs       int
	loopInputs     []loopInput
	knownAddresses int // memory addresses that the compiler has checked on the path to here
	heldValues     int // values from before a loop that every path to here has passed: the compiler keeps them live
	floor          int // height of the stack when the last loop began
	loopsBegun     int // loops so far
	openLoops      int // open loops
	maxOpenLoops   int // most open loops at a time
	mergeCost      int // cost of merging the variables of all loops once

	passed       int
	effort, load int
	codeBytes    int // bytes of machine code
	freshHeight  int // stack height above a new value that may have to be spilled; 0: none
}

// beginFunction begins with the code of a function, by its index among those with a body.
// It reuses the memory of the function before.
func (w *costWalk) beginFunction(body int) {
	w.BeginBody(w.cost.Module, body)
	*w = costWalk{
		Code: w.Code, cost: w.cost, blocks: w.blocks[:0], loopInputs: w.loopInputs[:0], latestJumps: w.latestJumps[:0], liveChanges: w.liveChanges[:0],
		vars: slices.Grow(w.vars[:0], w.Locals)[:w.Locals],
	}
	clear(w.vars)
	typ, _ := w.cost.Type(uint32(w.cost.Imported + body))
	w.effort = nsGlobal * (w.cost.Globals + len(w.cost.Imports))
	w.blocks = append(w.blocks, block{results: len(typ.Results), shortest: unreached, knownAtEnd: unreached, inLoop: -1})
}

// reloadGlobals adds the cost of loading all mutable globals again after a call,
// which may have changed them.
func (w *costWalk) reloadGlobals() {
	w.addCost(nsReload*w.cost.MutableGlobals, bytesReload*w.cost.MutableGlobals)
}

// addCost adds time and memory to those of the function.
func (w *costWalk) addCost(ns, bytes int) {
	if w.dead {
		return
	}
	w.effort += ns
	w.load += bytes
	if w.load > maxLoad || w.effort > maxEffort {
		w.Fail(wasm.TooBig, "the function would take too much time or memory to compile")
	}
}

// newPart begins another part. All stack values and known addresses flow into it.
func (w *costWalk) newPart() {
	if w.dead {
		return
	}
	w.flowIntoPart()
	w.addCost(0, bytesPart)
	w.emit(codePart)
}

// flowIntoPart adds the cost of all values that flow into the next part. The part's own
// cost belongs to an instruction, or is added by newPart.
func (w *costWalk) flowIntoPart() {
	w.part++
	w.pathLength++
	w.addCost(nsPath*w.pathLength+nsStack*w.height+nsKnown*w.knownAddresses, bytesStack*w.height+bytesKnown*w.knownAddresses)
	w.addCost(nsHeld*w.heldValues, bytesHeld*w.heldValues)
	w.emit(codeKept * min(w.height, registers))
}

// moveStack pops and pushes values. Invalid code, which the engine refuses later, may pop
// more than the block has.
func (w *costWalk) moveStack(pops, pushes int) {
	top := &w.blocks[len(w.blocks)-1]
	w.height = max(w.height-pops, top.base)
	w.floor = min(w.floor, w.height)
	w.height += pushes
}

// endReachable marks the following instructions as unreachable.
func (w *costWalk) endReachable() {
	w.dead = true
	w.height = w.blocks[len(w.blocks)-1].base
	w.floor = min(w.floor, w.height)
}

// enterBlock begins a block, loop or if, and notes what holds at its begin. A loop and the
// then-branch begin a part of their own, which is a basic block of the engine's compiler.
func (w *costWalk) enterBlock() {
	params, results := int(w.A), int(w.B)
	if w.Op == wasm.OpIf {
		w.moveStack(1, 0)
	}
	b := block{
		loop: w.Op == wasm.OpLoop, undecided: w.Op == wasm.OpIf, dead: w.dead, params: params, results: results,
		base: max(w.height-params, w.blocks[len(w.blocks)-1].base), pathLength: w.pathLength, shortest: unreached,
		knownAtBegin: w.knownAddresses, knownAtEnd: unreached, heldAtBegin: w.heldValues, heldAtEnd: unreached, floor: w.floor,
		inLoop: w.blocks[len(w.blocks)-1].inLoop, loopInputs: len(w.loopInputs), id: w.newBlockID(),
	}
	if b.loop {
		w.loopsBegun++
		w.heldValues += w.height - w.floor // stack values from before this loop, and not counted for an earlier one
		w.floor = w.height
	}
	if w.Op != wasm.OpBlock {
		w.newPart()
	}
	b.part = w.partsSeen()
	if b.loop {
		b.inLoop = w.part
		w.openLoops++
		w.maxOpenLoops = max(w.maxOpenLoops, w.openLoops)
	}
	w.blocks = append(w.blocks, b)
	if b.undecided { // without an else a false condition leads to the end
		w.noteJump(len(w.blocks) - 1)
	}
}

// recordJump records a jump to the end of an open block, or to the begin of a loop.
func (w *costWalk) recordJump(depth uint32) {
	if w.dead {
		return
	}
	i := len(w.blocks) - 1 - int(depth)
	b := &w.blocks[i]
	if b.loop {
		b.backJumps++
		b.backParts += w.partsSeen() - b.part
		w.passValues(b.params, codeLoop)
		return
	}
	if i == 0 {
		w.emit(codeReturn)
	}
	w.noteJump(i)
	b.shortest, b.knownAtEnd, b.heldAtEnd = min(b.shortest, w.pathLength), min(b.knownAtEnd, w.knownAddresses), min(b.heldAtEnd, w.heldValues)
	w.passValues(b.results, codeMoveWide)
}

// noteJump records that a jump goes to the end of the block at a depth. Earlier jumps to
// that block, and to blocks inside it, are no longer the latest.
func (w *costWalk) noteJump(depth int) {
	for n := len(w.latestJumps); n > 0 && w.latestJumps[n-1].depth >= depth; n-- {
		w.latestJumps = w.latestJumps[:n-1]
	}
	w.latestJumps = append(w.latestJumps, blockJump{depth, w.part})
}

// passValues adds the cost of values that a jump or the end of a block passes on. each is
// the machine code of one.
func (w *costWalk) passValues(values, each int) {
	w.addCost(nsPath*w.pathLength+nsPass*values, bytesPassed*values)
	w.emit(each * values)
}

func (w *costWalk) newBlockID() int {
	w.blockIDs++
	return w.blockIDs
}

// enterElse ends the then-branch like a jump to the end of the if, and restores what was
// known at its begin.
func (w *costWalk) enterElse() {
	b := &w.blocks[len(w.blocks)-1]
	w.recordJump(0)
	b.undecided = false
	b.id = w.newBlockID() // what the then-branch has set is not definite here
	w.dead, w.height, w.pathLength, w.knownAddresses, w.heldValues = b.dead, b.base+b.params, b.pathLength, b.knownAtBegin, b.heldAtBegin+b.held
	w.floor = min(w.floor, b.floor, b.base)
	w.newPart()
}

// leaveBlock ends a block. What follows begins with what all paths to the end have in
// common: the shortest path, and the fewest known addresses and held values.
func (w *costWalk) leaveBlock() {
	b := &w.blocks[len(w.blocks)-1]
	switch {
	case b.loop && !w.dead:
		b.shortest = w.pathLength
		b.knownAtEnd, b.heldAtEnd = w.knownAddresses, w.heldValues
	case b.undecided && !b.dead:
		b.shortest, b.knownAtEnd, b.heldAtEnd = min(b.shortest, b.pathLength), min(b.knownAtEnd, b.knownAtBegin), min(b.heldAtEnd, b.heldAtBegin)
	}
	if b.loop {
		w.passValues(b.results, codeMoveWide)
		w.dead = b.dead // a loop goes back even if its end is unreachable
		w.closeLoop(b)
	} else {
		w.recordJump(0)
	}
	// Code after a block without a reachable end is compiled as well.
	w.dead, w.height = b.dead, b.base+b.results
	w.pathLength = b.pathLength
	if b.shortest != unreached {
		w.pathLength, w.knownAddresses, w.heldValues = b.shortest, b.knownAtEnd, b.heldAtEnd+b.held
	}
	w.floor = min(w.floor, b.base)
	if !b.loop {
		w.floor = min(w.floor, b.floor)
	}
	held := b.held - b.heldOfParent
	w.blocks = w.blocks[:len(w.blocks)-1]
	if len(w.blocks) > 0 {
		w.blocks[len(w.blocks)-1].held += held
	}
	if n := len(w.latestJumps); n > 0 && w.latestJumps[n-1].depth == len(w.blocks) {
		w.latestJumps = w.latestJumps[:n-1]
	}
	if len(w.blocks) > 0 {
		w.newPart()
	}
}

// closeLoop extends the live range of the inputs of a loop to its end, since the
// next iteration reads them again.
func (w *costWalk) closeLoop(b *block) {
	w.openLoops--
	n := len(w.loopInputs) - b.loopInputs + b.params
	w.addCost(nsLoopBack*n*b.backParts, 0)
	w.addCost(nsMerge*n*n*(1+b.backJumps), 0)
	w.mergeCost += nsMerge * n * n * (1 + b.backJumps)
	w.emit(codeLoop * b.params)
	around := w.blocks[max(len(w.blocks)-2, 0)].inLoop
	kept := w.loopInputs[:b.loopInputs]
	for _, e := range w.loopInputs[b.loopInputs:] {
		if w.Err() != nil {
			return
		}
		passed := w.partsSeen() - w.vars[e.local].lastUseSeen
		w.addCost(nsLocal*(1+passed), bytesLive*(1+passed)+bytesLoop*(2+b.backJumps))
		w.emit(loopPassBytes(w.Kinds[e.local]) * (2 + b.backJumps))
		w.holdVariable(&w.vars[e.local])
		w.keepLive(&w.vars[e.local])
		if e.since < around { // it is an input of the loop around this one, too
			kept = append(kept, e)
		}
	}
	w.loopInputs = kept
}

// endFunction adds costs that depend on the whole function. The compiler merges the
// variables of loops until nothing changes, and a change in an inner loop may cause
// one in the outer loop.
func (w *costWalk) endFunction() {
	w.addCost(w.mergeCost*w.maxOpenLoops, 0)
	n := 0
	for _, more := range w.liveChanges {
		n += more
		w.codeBytes += codeKept * min(n, registers)
	}
}
