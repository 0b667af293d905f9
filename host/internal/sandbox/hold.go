package sandbox

// answerBytes is what the host may have in memory of an answer that a guest has
// not read: what the transport receives ahead, the buffers of the connection
// and of the system, and the head. Package outbound bounds these.
const answerBytes = 1 << 20

// stateBytes is for the state of an item: what was loaded, and what was set.
const stateBytes = 2 * maxState

// holdMemory sets memory aside for what the host keeps for the run, until drop or the
// end of the run. It waits like a guest that grows. If there is none, the guest
// gets an error code, and the run's failure tells why.
func (r *run) holdMemory(need uint64) bool {
	if err := r.c.engine.budget.takeMemory(r, need); err != nil {
		r.memoryErr = err
		return false
	}
	r.heldBytes += need
	return true
}

// dropMemory gives up what was held.
func (r *run) dropMemory(had uint64) {
	r.heldBytes -= had
	r.c.engine.budget.returnMemory(had)
}

// holdResult makes room for a result of so many bytes.
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

// adoptMemory takes over what the host keeps for a part that has ended: of the state
// and of results there is one afterwards, so what is held for others is dropped.
func (r *run) adoptMemory(p *run) {
	r.heldBytes += p.heldBytes
	if p.stateHeld && r.stateHeld {
		r.dropMemory(stateBytes)
	}
	r.stateHeld = r.stateHeld || p.stateHeld
	old := p.resultBytes
	if p.result != nil {
		old, r.resultBytes, r.result = r.resultBytes, p.resultBytes, p.result
	}
	r.dropMemory(uint64(old))
}

// overheadBytes is what a run has beside its instance: the stack of its calls, and
// lines of its log if they are long: two streams, and copies without secrets.
func (r *run) overheadBytes() uint64 {
	return stackSize + 4*uint64(max(r.log.line-DefaultLogLine, 0))
}
