package meter

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// TestPricesHaveABound: the price of a piece of code follows from its length.
func TestPricesHaveABound(t *testing.T) {
	t.Parallel()
	for op, price := range prices {
		bytes := 1
		if wasm.Op(op) == wasm.OpMemoryGrow || op >= 0x100 { // a memory follows; a prefix stands before
			bytes = 2
		}
		if int(price) > mostPrice*bytes {
			t.Errorf("instruction %#x costs %d, more than %d for each of its %d bytes", op, price, mostPrice, bytes)
		}
	}
}
