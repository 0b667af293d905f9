package meter

import "github.com/wasmjob/wasmjob/host/internal/wasm"

// A unit of price is about a nanosecond on a slow machine. A price is at most mostPrice
// per byte of the instruction.
const (
	mostPrice  = 12
	priceDiv   = 8
	priceCall  = 3
	priceFar   = 8  // call_indirect
	priceGrow  = 24 // the instruction has at least two bytes
	priceRange = 8
)

var prices = allPrices() // read only

// allPrices returns the prices of all instructions: 1 except for those listed.
func allPrices() (table [wasm.Ops]byte) {
	for o := range table {
		table[o] = 1
	}
	for _, p := range [...]struct {
		from, to wasm.Op
		price    byte
	}{
		{0x00, wasm.OpLoop, 0}, // unreachable nop block loop
		{wasm.OpElse, wasm.OpElse, 0},
		{wasm.OpEnd, wasm.OpEnd, 0},
		{wasm.OpBrTable, wasm.OpBrTable, 2},
		{wasm.OpCall, wasm.OpCall, priceCall},
		{wasm.OpCallIndirect, wasm.OpCallIndirect, priceFar},
		{0x1a, 0x1a, 0}, // drop
		{wasm.OpTableGet, wasm.OpTableSet, 2},
		{0x6d, 0x70, priceDiv},     // i32.div i32.rem
		{0x7f, 0x82, priceDiv},     // i64.div i64.rem
		{0x91, 0x91, priceDiv},     // f32.sqrt
		{0x95, 0x95, priceDiv / 2}, // f32.div
		{0x9f, 0x9f, priceDiv},     // f64.sqrt
		{0xa3, 0xa3, priceDiv / 2}, // f64.div
		{wasm.OpRefFunc, wasm.OpRefFunc, 2},
		{0x100, 0x10f, 2},                                  // saturating conversions, data.drop, elem.drop and others
		{0x2e3, 0x2e3, priceDiv}, {0x2e7, 0x2e7, priceDiv}, // square roots and divisions of vectors
		{0x2ef, 0x2ef, priceDiv}, {0x2f3, 0x2f3, priceDiv},
	} {
		for o := p.from; o <= p.to; o++ {
			table[o] = p.price
		}
	}
	for o := range wasm.Op(wasm.Ops) {
		if o.IsBulk() {
			table[o] = priceRange
		}
	}
	table[wasm.OpMemoryGrow], table[wasm.OpTableGrow] = priceGrow, priceGrow
	return table
}
