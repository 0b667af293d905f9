package sandbox

// readLocal is the reading of a variable, whose value comes through every part since
// it was met. Where it was not set on all ways to here, each jump to the end of
// a block since may take it along.
func (w *costWalk) readLocal(local uint32) {
	if w.dead {
		return
	}
	v := &w.vars[local]
	w.addCost(nsLocal*(w.partsSeen()-v.lastUseSeen), bytesLive*(w.part-v.lastUse))
	w.holdVariable(v)
	w.keepLive(v)
	since := v.passedOnUpTo
	if v.depth < len(w.blocks) && w.blocks[v.depth].id == v.blockID {
		since = max(v.set, v.held)
		v.held = w.part
	} else {
		w.addCost(0, bytesLocal*(w.part-v.passedOnUpTo))
		w.emit(passBytes(w.Kinds[local]) * (w.part - v.passedOnUpTo))
		w.define(v)
		v.passedOnUpTo = w.part
	}
	if since < w.blocks[len(w.blocks)-1].inLoop {
		w.loopInputs = append(w.loopInputs, loopInput{int(local), since})
	}
}

// holdVariable counts a variable that had its value when a loop began, and is used
// since. The compiler takes it for needed in all that this loop leads to,
// wherever that is and however early it was set anew.
func (w *costWalk) holdVariable(v *variable) {
	if v.isHeld || v.loopsBegun == w.loopsBegun {
		return
	}
	v.isHeld = true
	w.addCost(nsHeld*(w.part-v.set), bytesHeld*(w.part-v.set))
	w.heldValues++
	if top := len(w.blocks) - 1; v.depth < top {
		w.blocks[top].held++
		w.blocks[v.depth+1].heldOfParent++
	}
}

// partsSeen is how many parts there were but for the targets of br_table.
func (w *costWalk) partsSeen() int { return w.part - w.targets }

// keepLive notes that a variable lives in all parts since it was met.
func (w *costWalk) keepLive(v *variable) {
	if w.part > v.lastUse {
		if short := w.part + 2 - len(w.liveChanges); short > 0 {
			w.liveChanges = append(w.liveChanges, make([]int, short)...)
		}
		w.liveChanges[v.lastUse+1]++
		w.liveChanges[w.part+1]--
		v.lastUse, v.lastUseSeen = w.part, w.partsSeen()
	}
}

// define says that from here on a variable has one value.
func (w *costWalk) define(v *variable) {
	v.lastUse, v.lastUseSeen, v.set, v.held = w.part, w.partsSeen(), w.part, w.part
	v.loopsBegun, v.isHeld = w.loopsBegun, false
	v.depth = len(w.blocks) - 1
	v.blockID = w.blocks[v.depth].id
}

func (w *costWalk) setLocal(local uint32) {
	if w.dead {
		return
	}
	v := &w.vars[local]
	w.define(v)
	if n := len(w.latestJumps); n == 0 || w.latestJumps[n-1].part < v.passedOnUpTo {
		v.passedOnUpTo = w.part // nobody takes what it was along
	}
}
