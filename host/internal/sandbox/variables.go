package sandbox

// readLocal adds the cost of reading a local. Its variable is live in all parts (basic
// blocks) since its last use. If its value is not definite, because paths with different
// values meet, each end of a block since then passes it on.
func (w *costWalk) readLocal(local uint32) {
	if w.dead {
		return
	}
	v := &w.vars[local]
	w.addCost(nsLocal*(w.partsSeen()-v.lastUseSeen), bytesLive*(w.part-v.lastUse))
	w.holdVariable(v)
	w.keepLive(v)
	since := v.passedOnUpTo // the part in which it got the value that is read here
	// The value is definite as long as the block in which it was set is open.
	if v.depth < len(w.blocks) && w.blocks[v.depth].id == v.blockID {
		since = max(v.set, v.held)
		v.held = w.part
	} else {
		w.addCost(0, bytesLocal*(w.part-v.passedOnUpTo))
		w.emit(passBytes(w.Kinds[local]) * (w.part - v.passedOnUpTo))
		w.define(v)
		v.passedOnUpTo = w.part
	}
	if since < w.blocks[len(w.blocks)-1].inLoop { // the value comes from before the innermost loop
		w.loopInputs = append(w.loopInputs, loopInput{int(local), since})
	}
}

// holdVariable counts a variable that had its value before a loop began and is used after
// that begin. The compiler keeps it live in everything that the loop leads to.
func (w *costWalk) holdVariable(v *variable) {
	if v.isHeld || v.loopsBegun == w.loopsBegun {
		return
	}
	v.isHeld = true
	w.addCost(nsHeld*(w.part-v.set), bytesHeld*(w.part-v.set))
	w.heldValues++
	// At its end a block adds its count to the block around it, but not beyond that of v.
	if top := len(w.blocks) - 1; v.depth < top {
		w.blocks[top].held++
		w.blocks[v.depth+1].heldOfParent++
	}
}

// partsSeen returns the number of parts without targets of br_table.
func (w *costWalk) partsSeen() int { return w.part - w.targets }

// keepLive records that a variable is live in all parts after its last use, up to this one.
// Only the two parts at which the number of live variables changes are noted.
func (w *costWalk) keepLive(v *variable) {
	if w.part > v.lastUse {
		if missing := w.part + 2 - len(w.liveChanges); missing > 0 {
			w.liveChanges = append(w.liveChanges, make([]int, missing)...)
		}
		w.liveChanges[v.lastUse+1]++
		w.liveChanges[w.part+1]--
		v.lastUse, v.lastUseSeen = w.part, w.partsSeen()
	}
}

// define records that a variable has a definite value from here on.
func (w *costWalk) define(v *variable) {
	v.lastUse, v.lastUseSeen, v.set, v.held = w.part, w.partsSeen(), w.part, w.part
	v.loopsBegun, v.isHeld = w.loopsBegun, false
	v.depth = len(w.blocks) - 1
	v.blockID = w.blocks[v.depth].id
}

// setLocal records that the code sets a local.
func (w *costWalk) setLocal(local uint32) {
	if w.dead {
		return
	}
	v := &w.vars[local]
	w.define(v)
	if n := len(w.latestJumps); n == 0 || w.latestJumps[n-1].part < v.passedOnUpTo {
		v.passedOnUpTo = w.part // no jump passes its old value on
	}
}
