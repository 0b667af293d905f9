package host

// eventSize is the approximate size of an Event without the texts of its outcome.
const eventSize = 1 << 10

// size returns about how many bytes the event takes in the queue of Options.Observe.
func (e *Event) size() int {
	return eventSize + len(e.Outcome.Result) + len(e.Outcome.Shown) + len(e.Outcome.Error) + len(e.Reason.Args)
}
