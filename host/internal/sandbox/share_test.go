package sandbox

import "testing"

// Guests, Go's heap and the rest together never get more than there is, unless the
// operator gave the guests so much that none is left for the host.
func TestSharesFitTogether(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, tt := range []struct{ asked, all, budget, heap uint64 }{
		{all: 256 * mib, budget: 128 * mib, heap: 96 * mib},
		{all: 1024 * mib, budget: 512 * mib, heap: 384 * mib},
		{asked: 64 * mib, all: 256 * mib, budget: 64 * mib, heap: 160 * mib},
		{asked: 192 * mib, all: 256 * mib, budget: 192 * mib, heap: 32 * mib},
		{asked: 999 * mib, all: 256 * mib, budget: 999 * mib, heap: 32 * mib},
		{asked: 64 * mib, budget: 64 * mib},
		{budget: defaultBudget},
	} {
		budget, heap := shares(int64(tt.asked), tt.all)
		if budget != tt.budget || heap != tt.heap {
			t.Errorf("%d MiB of %d: budget %d, heap %d MiB; want %d, %d", tt.asked/mib, tt.all/mib, budget/mib, heap/mib, tt.budget/mib, tt.heap/mib)
		}
	}
}
