package meter

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// TestPricesHaveABound checks that the length of code bounds its price.
func TestPricesHaveABound(t *testing.T) {
	t.Parallel()
	for op, price := range prices {
		bytes := 1
		if wasm.Op(op) == wasm.OpMemoryGrow || op >= 0x100 { // one more byte: the memory, or the prefix
			bytes = 2
		}
		if int(price) > mostPrice*bytes {
			t.Errorf("instruction %#x costs %d, more than %d for each of its %d bytes", op, price, mostPrice, bytes)
		}
	}
}
