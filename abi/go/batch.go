package wasmjob

import "strconv"

// Sink takes the elements that the first half of a dataflow job finds. To find
// none ends the run.
type Sink struct{ h host }

// Add puts an element into the batch. It fails with ErrLimit when the batch is
// full: what does not fit can wait for the next one.
func (s Sink) Add(element []byte) error {
	return check(s.h.batchAdd(element), "add to the batch")
}

// AddString is Add for text.
func (s Sink) AddString(element string) error { return s.Add([]byte(element)) }

// Batch is what the second half of a dataflow job handles.
type Batch struct{ h host }

// Len is the number of elements.
func (b Batch) Len() int { return int(max(0, b.h.batchCount())) }

// At is one element, from 0 to Len()-1.
func (b Batch) At(i int) ([]byte, error) {
	e, n := read(func(buf []byte) int32 { return b.h.batchRead(index(i), buf) })
	return e, check(n, "read element", strconv.Itoa(i))
}

// All are the elements in their order.
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

// Ack says what became of an element; a later call replaces it. An element
// without a word on it is done if the job returns nil, and has failed if not.
func (b Batch) Ack(i int, o Outcome) error {
	switch o {
	case AckDone, AckFailed, AckRetry:
		return check(b.h.batchAck(index(i), int32(o)), "mark element", strconv.Itoa(i))
	}
	return &attempt{"mark element " + strconv.Itoa(i), ErrInvalid}
}
