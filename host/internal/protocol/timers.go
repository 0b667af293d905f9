package protocol

// timers are the moments for which this member asks to be woken.
type timers struct {
	wake   int64 // the newest moment that was asked for
	held   int64 // the time at which a deferred rule must be asked again; 0: none
	reread int64 // when all nodes were last read again
	counts counts
}

// hold asks to be woken at until.
func (t *timers) hold(until int64) {
	if t.held == 0 || until < t.held {
		t.held = until
	}
}

// sooner returns the earlier of two moments; 0 is none.
func sooner(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
