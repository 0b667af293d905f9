package meter

import "encoding/binary"

// asm is a buffer for instructions.
type asm struct{ b []byte }

func (c *asm) emit(b ...byte) { c.b = append(c.b, b...) }

// emitIndex emits an instruction with an index: of a local (0x20 get, 0x21 set, 0x22 tee), a
// global (0x23 get, 0x24 set) or a function (0x10 call).
func (c *asm) emitIndex(op byte, i int) { c.b = binary.AppendUvarint(append(c.b, op), uint64(i)) }

func (c *asm) getLocal(i int) { c.emitIndex(0x20, i) }
func (c *asm) setLocal(i int) { c.emitIndex(0x21, i) }

func (c *asm) constI32(v int32) { c.b = appendSigned(append(c.b, 0x41), int64(v)) }
func (c *asm) constI64(v int64) { c.b = appendSigned(append(c.b, 0x42), v) }

// getU64 pushes an i32 local as an unsigned i64.
func (c *asm) getU64(i int) {
	c.getLocal(i)
	c.emit(0xad)
}

const noLocal = -1

// getBalance pushes the balance, from a local if there is one.
func (c *asm) getBalance(m *module, local int) {
	if local == noLocal {
		c.emitIndex(0x23, m.Globals) // global.get
	} else {
		c.getLocal(local)
	}
}

// loadBalance copies the balance from its global into a local.
func (c *asm) loadBalance(m *module, local int) {
	c.getBalance(m, noLocal)
	c.setLocal(local)
}

// charge subtracts an amount, which the code of amount pushes, from the balance and its
// copy in a local.
func (c *asm) charge(m *module, local int, amount func(*asm)) {
	c.getBalance(m, local)
	amount(c)
	c.emit(0x7d) // i64.sub
	if local != noLocal {
		c.emitIndex(0x22, local) // local.tee
	}
	c.emitIndex(0x24, m.Globals) // global.set
}

// pay subtracts a price from the balance.
func (c *asm) pay(m *module, local int, price int32) {
	c.charge(m, local, func(c *asm) { c.constI64(int64(price)) })
}

// checkAtHead checks the balance at the begin of a loop. If it is below zero, the
// code refills it and starts the loop again. The usual case is the first branch and
// falls through; the call, which clobbers all registers, is in the other branch.
func (c *asm) checkAtHead(m *module, local int) {
	c.getBalance(m, local)
	c.constI64(0)
	c.emit(0x59, 0x04, 0x40, 0x05)     // i64.ge_s if else
	c.emitIndex(0x10, int(m.refill())) // call
	if local != noLocal {
		c.loadBalance(m, local)
	}
	c.emit(0x0c, 1, 0x0b) // br end
}

// checkBalance checks the balance anywhere, in a loop of its own.
func (c *asm) checkBalance(m *module, local int) {
	c.emit(0x03, 0x40) // loop
	c.checkAtHead(m, local)
	c.emit(0x0b) // end
}

// refillBody returns the body of the function that requests the next balance from
// the host.
func (m *module) refillBody() []byte {
	c := &asm{b: []byte{0}}      // no locals
	c.emitIndex(0x23, m.Globals) // the index of the balance: it comes after the module's own globals
	c.emitIndex(0x10, int(m.yield()))
	c.emitIndex(0x24, m.Globals)
	c.emit(0x0b) // end
	return c.b
}
