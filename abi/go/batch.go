package wasmjob

import "strconv"

// Sink takes the elements that the fetch function of a dataflow job finds. Adding none
// ends the run.
type Sink struct{ h host }

// Add puts an element into the batch. It fails with ErrLimit if the batch is full: the
// remaining elements can wait for the next batch.
func (s Sink) Add(element []byte) error {
	return check(s.h.batchAdd(element), "add to the batch")
}

// AddString is Add for text.
func (s Sink) AddString(element string) error { return s.Add([]byte(element)) }

// Batch is the batch that the process function of a dataflow job handles.
type Batch struct{ h host }

// Len returns the number of elements.
func (b Batch) Len() int { return int(max(0, b.h.batchCount())) }

// At returns one element, from 0 to Len()-1.
func (b Batch) At(i int) ([]byte, error) {
	e, n := read(func(buf []byte) int32 { return b.h.batchRead(index(i), buf) })
	return e, check(n, "read element", strconv.Itoa(i))
}

// All returns the elements in order.
func (b Batch) All() ([][]byte, error) {
	all := make([][]byte, b.Len())
	for i := range all {
		e, err := b.At(i)
		if err != nil {
			return nil, err
		}
		all[i] = e
	}
	return all, nil
}

// Ack sets the outcome of an element; a later call replaces it. An element without an
// outcome is done if the job returns nil, and failed otherwise.
func (b Batch) Ack(i int, o Outcome) error {
	switch o {
	case AckDone, AckFailed, AckRetry:
		return check(b.h.batchAck(index(i), int32(o)), "mark element", strconv.Itoa(i))
	}
	return &attempt{"mark element " + strconv.Itoa(i), ErrInvalid}
}
