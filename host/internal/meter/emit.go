package meter

import (
	"encoding/binary"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// rewriteCode works in two passes, because payments and checks of a segment depend
// on the functions that it calls. The first pass analyzes all functions, the second
// writes them.
func (m *module) rewriteCode() error {
	if uint64(len(m.Bodies))*perFunction > m.maxMemory {
		return ErrMemory
	}
	size := len(m.Sections[wasm.SectionCode].Body)
	m.analysis = analysis{
		raw: make([]byte, 0, size+size/32), funcInfos: make([]function, 0, len(m.Bodies)),
		segments: make([]segment, 0, size/16), calls: make([]callSite, 0, size/32),
	}
	w := walk{m: m}
	for i := range m.Bodies {
		if err := w.function(i); err != nil {
			return err
		}
	}
	newGraph(m).findComponents()
	if m.mode != perInstruction {
		if err := m.payEntries(); err != nil {
			return err
		}
	}
	m.code = entries{n: len(m.Bodies), b: make([]byte, 0, size+size/2)}
	var body asm
	for i := range m.funcInfos {
		body.b = body.b[:0]
		m.emit(&body, i)
		m.code.b = binary.AppendUvarint(m.code.b, uint64(len(body.b)))
		m.code.b = append(m.code.b, body.b...)
		if m.bytes()+m.wrapperBytes+2*uint64(len(m.code.b)) > m.maxMemory { // assemble copies the code
			return ErrMemory
		}
	}
	return nil
}

// emit writes function i: its code with the payments and checks of its segments, and the
// checks after its calls.
func (m *module) emit(c *asm, i int) {
	f := &m.funcInfos[i]
	balance := m.emitLocals(c, f)
	done, calls := f.code, m.callsOf(i)
	upTo := func(at int32) { // copies the code before a position
		c.b = append(c.b, m.raw[done:at]...)
		done = int(at)
	}
	checkCalls := func(at int32) { // adds the checks after calls that end at a position or before
		for ; len(calls) > 0 && calls[0].end <= at; calls = calls[1:] {
			if calls[0].check {
				upTo(calls[0].end)
				c.checkBalance(m, noLocal)
			}
		}
	}
	own := m.segmentsOf(i)
	for k := range own {
		s := &own[k]
		checkCalls(s.offset)
		price := s.price + s.extra + s.callees
		if k == 0 && m.prepaid(i) { // callers have paid for the segment itself
			price = s.callees
		}
		if price == 0 && s.check == checkNone && !s.loadsBalance {
			continue
		}
		upTo(s.offset)
		local := noLocal
		if s.balanceInLocal {
			local = balance
		}
		switch {
		case s.loadsBalance:
			c.loadBalance(m, balance)
		case s.check == checkLoop:
			c.checkBalance(m, local)
		case s.check == checkHead:
			c.checkAtHead(m, local)
		}
		if price > 0 {
			c.pay(m, local, price)
		}
	}
	checkCalls(int32(f.to))
	upTo(int32(f.to))
}

// emitLocals writes the declarations of the locals, with those that metering adds. It
// returns the local for the balance.
func (m *module) emitLocals(c *asm, f *function) (balance int) {
	var more []byte // groups of locals, each a number and a type
	balance = f.locals
	if f.needsLength {
		more = append(more, 1, wasm.I32)
		balance++
	}
	if f.needsBalance {
		more = append(more, 1, wasm.I64)
	}
	c.b = binary.AppendUvarint(c.b, uint64(f.groups+len(more)/2))
	c.b = append(append(c.b, m.raw[f.from:f.code]...), more...)
	return balance
}

// maxPrepaid is the maximum price of a first segment that callers pay for.
const maxPrepaid = 24

// prepaid reports whether callers pay for the first segment of a function: all calls
// of it are direct, and that segment costs at most maxPrepaid.
func (m *module) prepaid(f int) bool {
	return m.mode != perInstruction && !m.addressTaken[m.Imported+f] && m.entryPrice(f) <= maxPrepaid
}

// entryPrice returns the price of a function's first segment, without its callees.
func (m *module) entryPrice(f int) int32 {
	if own := m.segmentsOf(f); len(own) > 0 {
		return own[0].price + own[0].extra
	}
	return 0
}

// payEntries adds the entry price of each prepaid function to the segments that call it.
// The host does not pay when it calls an export, so an export of a prepaid function
// becomes a wrapper that pays and then calls the function. A function that nothing in the
// module calls directly pays for itself: with addressTaken set, it is no longer prepaid.
// The call graph has read addressTaken before, so its checks do not change. The only error is
// ErrMemory.
func (m *module) payEntries() error {
	called := make([]bool, len(m.funcInfos))
	for _, c := range m.calls {
		if c.callee != unknown {
			called[c.callee] = true
		}
	}
	for _, ref := range m.Sections[wasm.SectionExport].Refs {
		f := int(ref.Func) - m.Imported
		switch {
		case f < 0 || !m.prepaid(f) || m.payWrapperOf[ref.Func] > 0:
		case called[f]:
			m.payWrapperOf[ref.Func] = m.firstHelper() + uint32(len(m.helpers)+len(m.payWrappers))
			w := m.payWrapper(ref.Func)
			m.payWrappers = append(m.payWrappers, w)
			m.wrapperBytes += uint64(len(w.params) + len(w.results) + 3*len(w.body)) // assemble copies it, and the code with it
			if m.bytes()+m.wrapperBytes > m.maxMemory {
				return ErrMemory
			}
		default:
			m.addressTaken[ref.Func] = true
		}
	}
	for _, c := range m.calls {
		if c.callee != unknown && m.prepaid(int(c.callee)) {
			m.segments[c.segment].callees += m.entryPrice(int(c.callee))
		}
	}
	return nil
}

// payWrapper returns a function that pays for another function and calls it.
func (m *module) payWrapper(f uint32) helper {
	typ, _ := m.Type(f)
	c := &asm{b: []byte{0}}
	c.pay(m, noLocal, m.entryPrice(int(f)-m.Imported))
	for i := range len(typ.Params) {
		c.getLocal(i)
	}
	c.emitIndex(0x10, int(m.shiftIndex(f))) // call
	c.emit(0x0b)                            // end
	return helper{Reserved + ".entry", []byte(typ.Params), []byte(typ.Results), c.b}
}
