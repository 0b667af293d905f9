package sandbox

// defaultBudget is for a machine whose memory is unknown.
const defaultBudget = 1 << 30

// Shares divides the memory of the process, as limited by its control group or the
// machine. asked is the configured budget, or 0:
//
//	budget   half: for all guests together, including data that the host holds for them
//	heap     the rest: above it Go's collector works harder
//	         one eighth stays free: machine code, threads, buffers of the kernel
//
// The memory of guests is outside the Go heap, so the two add up. A heap of 0 means
// that the memory is unknown.
func Shares(asked int64) (budget, heap uint64) { return shares(asked, processMemory("/")) }

// shares is Shares for a process with all bytes of memory, 0 if unknown.
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
	if budget+2*free > all { // the host needs some heap in any case, even if the sum then exceeds the memory
		return budget, free
	}
	return budget, all - budget - free
}
