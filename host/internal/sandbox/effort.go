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
	nsPath     = 40    // one step on the way from a part to the entry
	nsLocal    = 4_000 // a variable passing from one part to the next
	nsStack    = 250   // a value on the stack doing so
	nsFunc     = 4_000 // a function, however small
	nsCode     = 100   // a byte of machine code
	nsReload   = 100   // a variable of the module, for each call
	nsGlobal   = 3     // a global or import, for each function
	nsPass     = 700   // a value that a jump takes along
	nsKnown    = 20    // a place in memory that was looked at before, in each part
	nsLoopBack = 10    // a part on the way back round a loop, for each of its variables
	nsHeld     = 3     // a value there when a loop began, in each part behind that
	nsMerge    = 1     // two variables of a loop, for each way to its begin
	nsTarget   = 5_000 // a target of br_table, which is a part of its own,
	perTargets = 8     // and this many other ones of that br_table are a nanosecond more

	bytesPart   = 5 << 10
	bytesTarget = 3 << 10
	bytesLive   = 150  // a variable passing from one part to the next
	bytesLocal  = 450  // that a jump takes along
	bytesLoop   = 1100 // a variable that a jump takes to the begin of a loop
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
	loop, undecided          bool // undecided: an if whose else has not come
	dead                     bool // begins where nothing can come to
	base                     int  // values on the stack below it
	params, results          int
	pathLength               int // length of the way to where it begins
	shortest                 int // least way from which its end is reached
	part                     int // at its begin, targets of br_table not counted
	inLoop                   int // part at which the innermost loop around it begins, itself included; -1: none
	loopInputs               int // length of walk.exposed at its begin
	knownAtBegin, knownAtEnd int // places known at its begin, and at least at its end
	heldAtBegin, heldAtEnd   int // values held at its begin, and at least at its end
	floor                    int // walk.floor at its begin
	held, heldOfParent       int // variables of around it that were found to be held in it, and those of right around it
	backJumps, backParts     int // jumps to the begin of the loop, and how many parts they go back
	id                       int // number of the block, or of its half behind else, among all of the function
}

const unreached = math.MaxInt

// variable is what is known of a local. Its value comes from where it was last
// set, if all flow passes there; else from several places, and is handed on at
// each end of a block since.
type variable struct {
	lastUse      int  // part in which it was last read or set,
	lastUseSeen  int  // and how many of those up to there were no targets of br_table
	set          int  // part in which it got the value that it has,
	depth        int  // in this block,
	blockID      int  // of this number, until whose end that holds
	held         int  // part in which it was last read while that held
	passedOnUpTo int  // part up to which handing on is paid for
	loopsBegun   int  // loops that had begun when it got the value
	isHeld       bool // it counts as held
}

// blockJump is a jump to the end of a block that is still open.
type blockJump struct{ depth, part int }

// loopInput is a variable whose value comes into a loop from before it.
type loopInput struct{ local, since int }

// costWalk passes over the instructions of a function and knows what makes
// compiling expensive.
type costWalk struct {
	wasm.Code

	cost           *compileCost
	blocks         []block
	dead           bool // nothing comes to this instruction
	height         int  // values on the stack
	part           int  // straight pieces of code so far,
	targets        int  // of br_table among them
	pathLength     int  // parts from the entry to here that all flow passes through
	vars           []variable
	liveChanges    []int       // by part, how many more variables live in it than in the one before
	latestJumps    []blockJump // the latest jump to each open block or one around it, where no block further out has a later one
	blockIDs       int
	loopInputs     []loopInput
	knownAddresses int // places in memory that were looked at on the way here
	heldValues     int // values that were there when a loop began that all flow to here passed: the compiler takes them for needed
	floor          int // values on the stack that were there when the last one began
	loopsBegun     int // loops that have begun
	openLoops      int // that are open
	maxOpenLoops   int // most that were
	mergeCost      int // what bringing together the variables of all loops takes once

	passed       int
	effort, load int
	codeBytes    int // bytes of machine code
	freshHeight  int // height above a value that was just made; 0: none
}

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

// reloadGlobals is what each call takes beside what it moves: any variable of the
// module may have changed.
func (w *costWalk) reloadGlobals() {
	w.addCost(nsReload*w.cost.MutableGlobals, bytesReload*w.cost.MutableGlobals)
}

// addCost adds what one thing takes to what the whole function takes.
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

// newPart begins another part, into which all values on the stack pass, and all
// that is known of the memory.
func (w *costWalk) newPart() {
	if w.dead {
		return
	}
	w.flowIntoPart()
	w.addCost(0, bytesPart)
	w.emit(codePart)
}

// flowIntoPart is the same for a part that has its price with the instruction that
// makes it.
func (w *costWalk) flowIntoPart() {
	w.part++
	w.pathLength++
	w.addCost(nsPath*w.pathLength+nsStack*w.height+nsKnown*w.knownAddresses, bytesStack*w.height+bytesKnown*w.knownAddresses)
	w.addCost(nsHeld*w.heldValues, bytesHeld*w.heldValues)
	w.emit(codeKept * min(w.height, registers))
}

// moveStack takes values from the stack and puts others there.
func (w *costWalk) moveStack(pops, pushes int) {
	top := &w.blocks[len(w.blocks)-1]
	w.height = max(w.height-pops, top.base)
	w.floor = min(w.floor, w.height)
	w.height += pushes
}

// endReachable says that what follows is not reached from here.
func (w *costWalk) endReachable() {
	w.dead = true
	w.height = w.blocks[len(w.blocks)-1].base
	w.floor = min(w.floor, w.height)
}

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
		w.heldValues += w.height - w.floor
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
	if b.undecided {
		w.noteJump(len(w.blocks) - 1)
	}
}

// recordJump goes to the end of a block around this instruction, or to the begin of
// a loop.
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

// noteJump remembers that a jump goes to the end of a block.
func (w *costWalk) noteJump(depth int) {
	for n := len(w.latestJumps); n > 0 && w.latestJumps[n-1].depth >= depth; n-- {
		w.latestJumps = w.latestJumps[:n-1]
	}
	w.latestJumps = append(w.latestJumps, blockJump{depth, w.part})
}

// passValues is the end of a part, with values that go on.
func (w *costWalk) passValues(values, each int) {
	w.addCost(nsPath*w.pathLength+nsPass*values, bytesPassed*values)
	w.emit(each * values)
}

func (w *costWalk) newBlockID() int {
	w.blockIDs++
	return w.blockIDs
}

func (w *costWalk) enterElse() {
	b := &w.blocks[len(w.blocks)-1]
	w.recordJump(0)
	b.undecided = false
	b.id = w.newBlockID()
	w.dead, w.height, w.pathLength, w.knownAddresses, w.heldValues = b.dead, b.base+b.params, b.pathLength, b.knownAtBegin, b.heldAtBegin+b.held
	w.floor = min(w.floor, b.floor, b.base)
	w.newPart()
}

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
		w.closeLoop(b)
	} else {
		w.recordJump(0)
	}
	// Code after a block that nothing leaves is compiled all the same.
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

// closeLoop carries the variables that a loop has from before it to its end,
// from where they come to its begin again.
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
		if e.since < around {
			kept = append(kept, e)
		}
	}
	w.loopInputs = kept
}

// endFunction counts what is done once for each loop in another: the variables of
// loops are brought together until nothing changes any more, and what changes
// in an inner one may change the next.
func (w *costWalk) endFunction() {
	w.addCost(w.mergeCost*w.maxOpenLoops, 0)
	n := 0
	for _, more := range w.liveChanges {
		n += more
		w.codeBytes += codeKept * min(n, registers)
	}
}
