package sandbox

// answerBytes is what the host may have in memory of an answer that a guest has
// not read: what the transport receives ahead, the buffers of the connection
// and of the system, and the head. Package outbound bounds these.
const answerBytes = 1 << 20

// stateBytes is for the state of an item: what was loaded, and what was set.
const stateBytes = 2 * maxState

// hold sets memory aside for what the host keeps for the run, until drop or the
// end of the run. It waits like a guest that grows. If there is none, the guest
// gets an error code, and the run's failure tells why.
func (r *run) hold(need uint64) bool {
	if err := r.c.engine.budget.take(r, need); err != nil {
		r.starved = err
		return false
	}
	r.held += need
	return true
}

// drop gives up what was held.
func (r *run) drop(had uint64) {
	r.held -= had
	r.c.engine.budget.give(had)
}

// holdResult makes room for a result of so many bytes.
func (r *run) holdResult(size int) bool {
	more := size - r.room
	if more <= 0 {
		return true
	}
	if !r.hold(uint64(more)) {
		return false
	}
	r.room = size
	return true
}

// inherit takes over what the host keeps for a part that has ended: of the state
// and of results there is one afterwards, so what is held for others is dropped.
func (r *run) inherit(p *run) {
	r.held += p.held
	if p.stateOK && r.stateOK {
		r.drop(stateBytes)
	}
	r.stateOK = r.stateOK || p.stateOK
	old := p.room
	if p.result != nil {
		old, r.room, r.result = r.room, p.room, p.result
	}
	r.drop(uint64(old))
}

// overhead is what a run has beside its instance: the stack of its calls, and
// lines of its log if they are long: two streams, and copies without secrets.
func (r *run) overhead() uint64 {
	return stackSize + 4*uint64(max(r.journal.line-DefaultLogLine, 0))
}
