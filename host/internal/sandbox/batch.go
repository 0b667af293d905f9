package sandbox

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

const maxElements = 100_000

// batchStep is by how much the claim of a batch grows.
const batchStep = 64 << 10

// elementBytes is what the host notes of an element: its end, and its place and
// mark in the shares of process, once more when it is tried again.
const elementBytes = 48

// batch holds what fetch found. The host keeps it, so that it outlives the
// instance that found it. It grows in place outside of Go's heap, like the
// memory of a guest, and counts in the budget as it does.
type batch struct {
	most  int64 // bytes
	arena []byte
	data  []byte // the part of arena that is used
	ends  []int  // of each element in data
	held  uint64 // bytes of the budget
}

func newBatch(limits *job.Limits) *batch {
	b := &batch{most: limits.Batch}
	if b.most <= 0 {
		b.most = DefaultBatch
	}
	return b
}

// clear gives up all elements and their memory: the next batch may be long in
// coming.
func (b *batch) clear(r *run) {
	if b.arena != nil {
		giveBack(b.arena)
	}
	b.arena, b.data, b.ends = nil, nil, nil
	r.drop(b.held)
	b.held = 0
}

func (b *batch) add(r *run, element []byte) int32 {
	if len(b.ends) >= maxElements || int64(len(element)) > b.most-int64(len(b.data)) || !b.claim(r, len(element)) {
		return abi.ErrLimit
	}
	b.data = append(b.data, element...)
	b.ends = append(b.ends, len(b.data))
	return int32(len(b.ends) - 1)
}

// claim has the budget and the arena hold another element.
func (b *batch) claim(r *run, size int) bool {
	if b.arena == nil {
		arena, err := reserve(uint64(b.most))
		if err != nil {
			r.starved = err
			return false
		}
		b.arena, b.data = arena, arena[:0]
	}
	need := uint64(len(b.data)+size) + elementBytes*uint64(len(b.ends)+1)
	if need <= b.held {
		return true
	}
	more := (need - b.held + batchStep - 1) / batchStep * batchStep
	if !r.hold(more) {
		return false
	}
	b.held += more
	return true
}

func (b *batch) at(i int) []byte {
	begin := 0
	if i > 0 {
		begin = b.ends[i-1]
	}
	return b.data[begin:b.ends[i]]
}

// unmarked is the mark of an element that process said nothing about.
const unmarked int8 = -1

// share is what one call of process sees of a batch: some elements, numbered
// from 0, and what it says of each.
type share struct {
	b       *batch
	element []int // where in the batch
	marks   []int8
}

// span is the share of neighbours.
func (b *batch) span(from, to int) *share {
	s := &share{b: b, element: make([]int, to-from), marks: make([]int8, to-from)}
	for i := range s.element {
		s.element[i] = from + i
	}
	s.wipe()
	return s
}

func (s *share) wipe() {
	for i := range s.marks {
		s.marks[i] = unmarked
	}
}

// marked is the share of the elements with a mark.
func (s *share) marked(mark int8) *share {
	some := &share{b: s.b}
	for i, m := range s.marks {
		if m == mark {
			some.element = append(some.element, s.element[i])
		}
	}
	some.marks = make([]int8, len(some.element))
	some.wipe()
	return some
}

// count says how many elements were done and how many failed, given how those
// without a mark ended. One that shall be tried again has failed for now.
func (s *share) count(well bool) (done, failed int64) {
	for _, m := range s.marks {
		if m == abi.AckDone || m == unmarked && well {
			done++
		} else {
			failed++
		}
	}
	return done, failed
}

// batchCalls are the functions of dataflow jobs. That fetch has a batch and
// process a share follows from the phase.
func batchCalls() map[string]body {
	return map[string]body{
		abi.FuncBatchAdd: batchAdd, abi.FuncBatchCount: batchCount,
		abi.FuncBatchRead: batchRead, abi.FuncBatchAck: batchAck,
	}
}

func batchAdd(_ context.Context, r *run, mem api.Memory, s []uint64) {
	answer(s, r.batch.add(r, bytesAt(mem, u32(s[0]), u32(s[1]))))
}

func batchCount(_ context.Context, r *run, _ api.Memory, s []uint64) {
	answer(s, int32(len(r.share.element)))
}

func batchRead(_ context.Context, r *run, mem api.Memory, s []uint64) {
	i := u32(s[0])
	if uint64(i) >= uint64(len(r.share.element)) {
		bytesAt(mem, u32(s[1]), u32(s[2]))
		answer(s, abi.ErrInvalid)
		return
	}
	answer(s, give(mem, r.share.b.at(r.share.element[i]), u32(s[1]), u32(s[2])))
}

func batchAck(_ context.Context, r *run, _ api.Memory, s []uint64) {
	i, outcome := u32(s[0]), u32(s[1])
	if outcome > abi.AckRetry {
		panic(guestBug(fmt.Sprintf("there is no outcome %d", outcome)))
	}
	if uint64(i) >= uint64(len(r.share.marks)) {
		answer(s, abi.ErrInvalid)
		return
	}
	r.share.marks[i] = int8(outcome)
	answer(s, 0)
}
