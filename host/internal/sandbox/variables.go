package sandbox

// use is the reading of a variable, whose value comes through every part since
// it was met. Where it was not set on all ways to here, each jump to the end of
// a block since may take it along.
func (w *walk) use(local uint32) {
	if w.dead {
		return
	}
	v := &w.vars[local]
	w.cost(nsLocal*(w.seen()-v.seen), bytesLive*(w.part-v.met))
	w.hold(v)
	w.keep(v)
	since := v.handed
	if v.depth < len(w.blocks) && w.blocks[v.depth].arm == v.arm {
		since = max(v.set, v.held)
		v.held = w.part
	} else {
		w.cost(0, bytesLocal*(w.part-v.handed))
		w.emit(handing(w.Kinds[local]) * (w.part - v.handed))
		w.defined(v)
		v.handed = w.part
	}
	if since < w.blocks[len(w.blocks)-1].inLoop {
		w.exposed = append(w.exposed, exposure{int(local), since})
	}
}

// hold counts a variable that had its value when a loop began, and is used
// since. The compiler takes it for needed in all that this loop leads to,
// wherever that is and however early it was set anew.
func (w *walk) hold(v *variable) {
	if v.pinned || v.heads == w.heads {
		return
	}
	v.pinned = true
	w.cost(nsHeld*(w.part-v.set), bytesHeld*(w.part-v.set))
	w.holds++
	if top := len(w.blocks) - 1; v.depth < top {
		w.blocks[top].held++
		w.blocks[v.depth+1].own++
	}
}

// seen is how many parts there were but for the targets of br_table.
func (w *walk) seen() int { return w.part - w.targets }

// keep notes that a variable lives in all parts since it was met.
func (w *walk) keep(v *variable) {
	if w.part > v.met {
		if short := w.part + 2 - len(w.lives); short > 0 {
			w.lives = append(w.lives, make([]int, short)...)
		}
		w.lives[v.met+1]++
		w.lives[w.part+1]--
		v.met, v.seen = w.part, w.seen()
	}
}

// defined says that from here on a variable has one value.
func (w *walk) defined(v *variable) {
	v.met, v.seen, v.set, v.held = w.part, w.seen(), w.part, w.part
	v.heads, v.pinned = w.heads, false
	v.depth = len(w.blocks) - 1
	v.arm = w.blocks[v.depth].arm
}

func (w *walk) set(local uint32) {
	if w.dead {
		return
	}
	v := &w.vars[local]
	w.defined(v)
	if n := len(w.ahead); n == 0 || w.ahead[n-1].part < v.handed {
		v.handed = w.part // nobody takes what it was along
	}
}
