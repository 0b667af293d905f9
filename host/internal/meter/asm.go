package meter

import "encoding/binary"

// asm writes instructions.
type asm struct{ b []byte }

func (c *asm) op(b ...byte) { c.b = append(c.b, b...) }

func (c *asm) index(op byte, i int) { c.b = binary.AppendUvarint(append(c.b, op), uint64(i)) }

func (c *asm) get(i int) { c.index(0x20, i) }
func (c *asm) set(i int) { c.index(0x21, i) }

func (c *asm) i32(v int32) { c.b = appendSigned(append(c.b, 0x41), int64(v)) }
func (c *asm) i64(v int64) { c.b = appendSigned(append(c.b, 0x42), v) }

// wide gets a local i32 as an unsigned i64.
func (c *asm) wide(i int) {
	c.get(i)
	c.op(0xad)
}

const noLocal = -1

// balance gets the balance, which may also be in a local.
func (c *asm) balance(m *module, local int) {
	if local == noLocal {
		c.index(0x23, m.Globals)
	} else {
		c.get(local)
	}
}

// load puts the balance into a local.
func (c *asm) load(m *module, local int) {
	c.balance(m, noLocal)
	c.set(local)
}

// charge takes an amount off the balance.
func (c *asm) charge(m *module, local int, amount func(*asm)) {
	c.balance(m, local)
	amount(c)
	c.op(0x7d) // i64.sub
	if local != noLocal {
		c.index(0x22, local)
	}
	c.index(0x24, m.Globals)
}

func (c *asm) pay(m *module, local int, price int32) {
	c.charge(m, local, func(c *asm) { c.i64(int64(price)) })
}

// again looks at the balance at the begin of a loop: below zero it is filled
// up, and the loop begins once more. What nearly always happens is the first
// arm, and goes on in one piece: the call, which leaves nothing in registers,
// stands where the code has gone another way already.
func (c *asm) again(m *module, local int) {
	c.balance(m, local)
	c.i64(0)
	c.op(0x59, 0x04, 0x40, 0x05) // i64.ge_s if else
	c.index(0x10, int(m.refill()))
	if local != noLocal {
		c.load(m, local)
	}
	c.op(0x0c, 1, 0x0b) // br end
}

// look does so anywhere.
func (c *asm) look(m *module, local int) {
	c.op(0x03, 0x40) // loop
	c.again(m, local)
	c.op(0x0b)
}

// refillBody asks the host for the next balance.
func (m *module) refillBody() []byte {
	c := &asm{b: []byte{0}} // no locals
	c.index(0x23, m.Globals)
	c.index(0x10, int(m.yield()))
	c.index(0x24, m.Globals)
	c.op(0x0b)
	return c.b
}
