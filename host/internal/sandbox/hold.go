package sandbox

// answerBytes is the memory for an HTTP response that a guest has not read: data
// received ahead, the buffers of the connection and the kernel, and the head.
// Package outbound limits these.
const answerBytes = 1 << 20

// stateBytes is the memory for the state of an item: the loaded values and the new
// ones.
const stateBytes = 2 * maxState

// holdMemory takes memory of the budget for data that the host keeps for the run,
// until dropMemory or the end of the run. It waits like a growing guest. If there is
// no memory, the guest gets an error code, and the run's failure gives the reason.
func (r *run) holdMemory(need uint64) bool {
	if err := r.compiled.engine.budget.takeMemory(r, need); err != nil {
		r.memoryErr = err
		return false
	}
	r.heldBytes += need
	return true
}

// dropMemory returns memory that holdMemory has taken.
func (r *run) dropMemory(had uint64) {
	r.heldBytes -= had
	r.compiled.engine.budget.returnMemory(had)
}

// holdResult takes memory of the budget for a result of size bytes, and returns false if
// there is none. A new result replaces the old one, so only the growth is taken; a shorter
// result returns nothing.
func (r *run) holdResult(size int) bool {
	more := size - r.resultBytes
	if more <= 0 {
		return true
	}
	if !r.holdMemory(uint64(more)) {
		return false
	}
	r.resultBytes = size
	return true
}

// adoptMemory takes over the memory that the host holds for p, a completed subtask. Only
// one state and one result remain, so the memory of the others is returned.
func (r *run) adoptMemory(p *run) {
	r.heldBytes += p.heldBytes
	if p.stateHeld && r.stateHeld {
		r.dropMemory(stateBytes)
	}
	r.stateHeld = r.stateHeld || p.stateHeld
	old := p.resultBytes
	if p.result != nil { // it replaces the result of r
		old, r.resultBytes, r.result = r.resultBytes, p.resultBytes, p.result
	}
	r.dropMemory(uint64(old))
}

// overheadBytes returns the memory of a run besides its instance: the stack, and log lines
// that are longer than usual, in two streams, each with a copy for masking.
func (r *run) overheadBytes() uint64 {
	return stackSize + 4*uint64(max(r.log.line-DefaultLogLine, 0))
}
