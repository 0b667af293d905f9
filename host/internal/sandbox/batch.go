package sandbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// maxElements is the maximum number of elements in a batch.
const maxElements = 100_000

// batchStep is the granularity, in bytes, in which a batch claims memory.
const batchStep = 64 << 10

// elementBytes is what the host stores for an element besides its bytes: its end,
// and its index and mark in a subset, twice if it is retried.
const elementBytes = 48

// batch holds the elements that fetch added. The host keeps it, so that it outlives
// the instance. Like the memory of a guest, it grows in place outside the Go heap
// and counts against the budget.
type batch struct {
	limit     int64 // bytes
	arena     []byte
	data      []byte // the used part of arena
	ends      []int  // end of each element in data
	heldBytes uint64 // held of the budget
}

func newBatch(limits *job.Limits) *batch {
	return &batch{limit: orDefault(limits.Batch, DefaultBatch)}
}

// release frees all elements and their memory, because the next batch may come much
// later.
func (b *batch) release(r *run) {
	if b.arena != nil {
		unmap(b.arena)
	}
	b.arena, b.data, b.ends = nil, nil, nil
	r.dropMemory(b.heldBytes)
	b.heldBytes = 0
}

// add adds an element that fetch has found, and returns its index, or an error code if a
// limit is exceeded.
func (b *batch) add(r *run, element []byte) int32 {
	switch {
	case len(b.ends) >= maxElements:
		return r.exceeds("a batch has at most %d elements", maxElements)
	case int64(len(element)) > b.limit-int64(len(b.data)):
		return r.exceeds("limits.batch is %d bytes", b.limit)
	case !b.makeRoom(r, len(element)):
		return abi.ErrLimit
	}
	b.data = append(b.data, element...)
	b.ends = append(b.ends, len(b.data))
	return int32(len(b.ends) - 1)
}

// makeRoom ensures that arena and budget have memory for another element.
func (b *batch) makeRoom(r *run, size int) bool {
	if b.arena == nil {
		arena, err := reserve(uint64(b.limit))
		if err != nil {
			r.memoryErr = err
			return false
		}
		b.arena, b.data = arena, arena[:0]
	}
	// The address space is reserved as a whole. The budget counts what is used, in steps.
	need := uint64(len(b.data)+size) + elementBytes*uint64(len(b.ends)+1)
	if need <= b.heldBytes {
		return true
	}
	more := (need - b.heldBytes + batchStep - 1) / batchStep * batchStep
	if !r.holdMemory(more) {
		return false
	}
	b.heldBytes += more
	return true
}

// element returns the bytes of an element, which end where its entry in ends says.
func (b *batch) element(i int) []byte {
	begin := 0
	if i > 0 {
		begin = b.ends[i-1]
	}
	return b.data[begin:b.ends[i]]
}

// unmarked is the mark of an element that process did not acknowledge.
const unmarked int8 = -1

// subset is the part of a batch that one call of process sees: some elements,
// numbered from 0, and their marks.
type subset struct {
	batch   *batch
	indexes []int // positions in the batch
	marks   []int8
}

// subset returns the elements from position from up to, but without, position to.
func (b *batch) subset(from, to int) *subset {
	s := &subset{batch: b}
	for i := from; i < to; i++ {
		s.indexes = append(s.indexes, i)
	}
	s.resetMarks()
	return s
}

func (s *subset) resetMarks() { s.marks = slices.Repeat([]int8{unmarked}, len(s.indexes)) }

// withMark returns the elements that have the given mark, unmarked.
func (s *subset) withMark(mark int8) *subset {
	some := &subset{batch: s.batch}
	for i, m := range s.marks {
		if m == mark {
			some.indexes = append(some.indexes, s.indexes[i])
		}
	}
	some.resetMarks()
	return some
}

// countMarks returns how many elements are done and how many failed. An element
// without a mark is done if the call ended well. An element to be retried counts as
// failed.
func (s *subset) countMarks(well bool) (done, failed int64) {
	for _, m := range s.marks {
		if m == abi.AckDone || m == unmarked && well {
			done++
		} else {
			failed++
		}
	}
	return done, failed
}

// batchCalls returns the functions of dataflow jobs. The phase guarantees that fetch
// has a batch and process a subset.
func batchCalls() map[string]body {
	return map[string]body{
		abi.FuncBatchAdd: batchAdd, abi.FuncBatchCount: batchCount,
		abi.FuncBatchRead: batchRead, abi.FuncBatchAck: batchAck,
	}
}

// batchAdd implements the guest's batch_add(ptr, len).
func batchAdd(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	return r.batch.add(r, guestBytes(mem, u32(s[0]), u32(s[1])))
}

// batchCount implements the guest's batch_count(): the number of elements that process
// sees.
func batchCount(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	return int32(len(r.subset.indexes))
}

// batchRead implements the guest's batch_read(index, buf, cap): it writes an element of
// the subset that process sees.
func batchRead(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	i := u32(s[0])
	if uint64(i) >= uint64(len(r.subset.indexes)) {
		checkBuffer(mem, u32(s[1]), u32(s[2]))
		return abi.ErrInvalid
	}
	return writeValue(mem, r.subset.batch.element(r.subset.indexes[i]), u32(s[1]), u32(s[2]))
}

// batchAck implements the guest's batch_ack(index, outcome): process says whether an
// element is done, has failed, or should be retried. A later call for the same element
// replaces that.
func batchAck(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	i, outcome := u32(s[0]), u32(s[1])
	if outcome > abi.AckRetry {
		panic(guestBug(fmt.Sprintf("there is no outcome %d", outcome)))
	}
	if uint64(i) >= uint64(len(r.subset.marks)) {
		return abi.ErrInvalid
	}
	r.subset.marks[i] = int8(outcome)
	return 0
}
