package sandbox

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// errDeep ends a guest for whose stack there is no memory.
var errDeep = errors.New("calls are nested too deep")

// maxStack is how large a stack of the engine may be without being counted and
// given up after the call: it never shrinks by itself.
const maxStack = 64 << 10

// patientStack is how large a stack may be that waits for room in the budget.
const patientStack = 1 << 20

// entry is an export that is called, with the stack that the engine made for
// it. The stack begins with 10 KiB and is doubled as calls nest, until it has
// more than 50 MB; the engine asks nobody, and does not tell.
type entry struct {
	api.Function
	stack reflect.Value // the slice, within the engine
}

// entryOf looks for the stack in the engine. Should it ever find none, the
// zero Value panics at the first call, and every test fails.
func entryOf(f api.Function) *entry {
	return &entry{f, reflect.Indirect(reflect.ValueOf(f)).FieldByName("stack")}
}

// claimStack sets memory aside for the stack of the call in progress, in case
// that has grown: as much again is for those that were copied to it, which the
// collector of garbage has yet to find. This is asked when the guest reports or
// calls the host, so what is not counted is what a guest grows by in between.
// As it has that already, it does not wait for room, unless it is little.
func (r *run) claimStack() {
	in := r.in
	size := in.now.stack.Len()
	if size <= maxStack || size <= in.deep {
		return
	}
	need := 2*uint64(size) - in.claimed
	if err := in.c.engine.budget.stack(r, need, size <= patientStack); err != nil {
		r.starved = err
		panic(errDeep)
	}
	in.deep, in.claimed = size, in.claimed+need
}

// stack is take for what a run has got already.
func (b *budget) stack(r *run, got uint64, patient bool) error {
	if patient {
		return b.take(r, got)
	}
	if b.try(r, got) {
		return nil
	}
	b.evict()
	if b.try(r, got) {
		return nil
	}
	return fmt.Errorf("its stack has got %d bytes more, and all guests together may have %d of memory", got, b.most)
}

// dropStack gives up a stack that has grown, after the call.
func (in *instance) dropStack(name string) {
	if in.now.stack.Len() > maxStack {
		delete(in.entries, name)
	}
	if in.claimed > 0 {
		in.c.engine.budget.give(in.claimed)
		in.deep, in.claimed = 0, 0
	}
}
