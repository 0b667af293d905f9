package wasmjob

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// values returns the state that the current entry uses, or the error that every function
// of the state returns now.
func (f *Fake) values() (map[string]string, HostError) {
	switch {
	case f.phase == sharding:
		return nil, ErrWrongPhase
	case f.State == nil:
		return nil, ErrDenied
	case f.working == nil: // outside of an entry
		return f.State, 0
	}
	return f.working, 0
}

// stateGet reads a value as the host does.
func (f *Fake) stateGet(key string, buf []byte) int32 {
	values, no := f.values()
	if no != 0 {
		return answer(no)
	}
	return lookUp(values, key, buf)
}

// stateSet sets a value, with the host's limits on keys and on their number.
func (f *Fake) stateSet(key string, value []byte) int32 {
	values, no := f.values()
	switch _, known := values[key]; {
	case no != 0:
		return answer(no)
	case key == "" || len(key) > 256 || !utf8.ValidString(key):
		return answer(ErrInvalid)
	case !known && len(values) == 64:
		return answer(ErrLimit)
	}
	values[key] = string(value)
	return 0
}

// stateDelete removes a value as the host does.
func (f *Fake) stateDelete(key string) int32 {
	values, no := f.values()
	if no != 0 {
		return answer(no)
	}
	if _, known := values[key]; !known {
		return answer(ErrNotFound)
	}
	delete(values, key)
	return 0
}

// secretGet reads a secret. One that is not there is not granted. A strategy has none.
func (f *Fake) secretGet(name string, buf []byte) int32 {
	if f.phase == sharding {
		return answer(ErrWrongPhase)
	}
	if n := lookUp(f.Secrets, name, buf); n >= 0 {
		return n
	}
	return answer(ErrDenied)
}

// exchange is a response that a job reads.
type exchange struct {
	FakeAnswer
	closed bool
}

// httpRequest passes the request to f.HTTP. The handle that it returns is the index of the
// response.
func (f *Fake) httpRequest(request []byte) int32 {
	switch {
	case f.phase == sharding:
		return answer(ErrWrongPhase)
	case f.HTTP == nil:
		return answer(ErrDenied)
	}
	a, err := f.HTTP(parsed(request))
	if err != nil {
		var refusal HostError
		if errors.As(err, &refusal) {
			return answer(refusal)
		}
		return answer(ErrIO)
	}
	if a.Status == 0 {
		a.Status = 200
	}
	f.conversation = append(f.conversation, exchange{FakeAnswer: a})
	return int32(len(f.conversation) - 1)
}

// parsed parses a request encoded by Request.text.
func parsed(request []byte) Request {
	head, body, _ := bytes.Cut(request, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	r := Request{Header: map[string]string{}, Body: bytes.NewReader(body)}
	r.Method, r.URL, _ = strings.Cut(lines[0], " ")
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		r.Header[name] = value
	}
	return r
}

// open returns the response of a handle; nil if there is none or it was closed.
func (f *Fake) open(handle int32) *exchange {
	if handle < 0 || int(handle) >= len(f.conversation) || f.conversation[handle].closed {
		return nil
	}
	return &f.conversation[handle]
}

// httpStatus returns the status of a response.
func (f *Fake) httpStatus(handle int32) int32 {
	e := f.open(handle)
	if e == nil {
		return answer(ErrInvalid)
	}
	return int32(e.Status)
}

// httpHeader reads a header, whose name has no case.
func (f *Fake) httpHeader(handle int32, name string, buf []byte) int32 {
	e := f.open(handle)
	if e == nil {
		return answer(ErrInvalid)
	}
	for n, value := range e.Header {
		if strings.EqualFold(n, name) {
			return fill(buf, value)
		}
	}
	return answer(ErrNotFound)
}

// httpRead reads the next bytes of the body; 0: there are no more.
func (f *Fake) httpRead(handle int32, buf []byte) int32 {
	e := f.open(handle)
	if e == nil {
		return answer(ErrInvalid)
	}
	n := copy(buf, e.Body)
	e.Body = e.Body[n:]
	return int32(n)
}

// httpClose closes a response; the handle is invalid from then on.
func (f *Fake) httpClose(handle int32) int32 {
	e := f.open(handle)
	if e == nil {
		return answer(ErrInvalid)
	}
	e.closed = true
	return 0
}
