package sandbox

// defaultBudget is for a machine that does not tell what it has.
const defaultBudget = 1 << 30

// Shares divides the memory of the process, which its control group or the
// machine bounds, given the budget that was asked for, or 0 for the usual one:
//
//	budget   half: what all guests have together, and the host holds for them
//	heap     what is left: where Go's collector begins to work harder
//	         one eighth stays free: machine code, threads, buffers of the system
//
// Guests have their memory outside of Go's heap, so the two are added up. A heap
// of 0 means that nobody knows how much there is.
func Shares(asked int64) (budget, heap uint64) { return shares(asked, processMemory("/")) }

func shares(asked int64, all uint64) (budget, heap uint64) {
	free := all / 8
	switch {
	case asked > 0:
		budget = uint64(asked)
	case all > 0:
		budget = all / 2
	default:
		budget = defaultBudget
	}
	if budget+2*free > all { // the host needs some heap, however much guests were given
		return budget, free
	}
	return budget, all - budget - free
}
