package sandbox

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// errCalls reports that a request would exceed the number of requests of the run.
var errCalls = errors.New("the run has used up its http_calls")

// httpAnswer is an HTTP response whose body the guest may still read.
type httpAnswer struct {
	head      *job.HTTPResponse
	leftBytes int64 // bytes that the guest may still read
	overLimit bool  // the body is longer
	heldBytes uint64
	cancel    context.CancelFunc
}

// end closes the response and its connection.
func (e *httpAnswer) end() {
	e.cancel()
	_ = e.head.Body.Close() // the guest does not need the rest
}

// httpRequest implements the guest's http_request(req, len): it sends the request that the
// guest has written as text, waits for the head of the response, and returns a handle for
// it. Each request counts against http_calls, also one to which a redirect leads.
func httpRequest(ctx context.Context, r *run, mem api.Memory, s []uint64) int32 {
	text := guestBytes(mem, u32(s[0]), u32(s[1]))
	if code := r.stopCode(); code < 0 {
		return code
	}
	fail := func(err error) int32 { // the guest gets a code, the log the reason
		code := r.errorCode(err)
		r.logRefusal("request of the guest failed", slog.String("err", readable(r.log.secrets.hideAll(err.Error()), r.log.line)))
		return code
	}
	req, err := parseRequest(text)
	inserted := 0
	if err == nil {
		inserted, err = r.fillSecrets(&req)
	}
	if err != nil {
		return fail(err)
	}
	h := r.hostState
	limits := &r.facts.call.Config.Limits
	body := orDefault(limits.HTTPBody, DefaultHTTPBody)
	if int64(len(req.Body)) > body {
		return r.exceedsBody()
	}
	if len(h.answers) >= maxAnswers {
		return r.exceeds("at most %d responses may be open", maxAnswers)
	}
	if h.call.HTTP == nil {
		return abi.ErrDenied
	}
	// Memory for the response and for a copy of the request.
	held := uint64(len(text) + inserted + answerBytes)
	if !r.holdMemory(held) {
		return abi.ErrLimit
	}
	opened := false
	defer func() {
		if !opened {
			r.dropMemory(held)
		}
	}()
	// The guest's memory must not be read after this call returns.
	req.Body = append([]byte(nil), req.Body...)
	calls := int64(0) // of this request
	countCall := func() error {
		if h.shared.requests.Add(1) > int64(orDefault(limits.HTTPCalls, DefaultHTTPCalls)) {
			h.shared.requests.Add(-1)
			return errCalls
		}
		calls++
		return nil
	}
	req.Redirect = countCall
	if err := countCall(); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var head *job.HTTPResponse
	r.waitCancellable(cancel, func() { head, err = h.call.HTTP.Do(ctx, req) })
	if err != nil {
		cancel()
		return fail(err)
	}
	if head.Body == nil {
		head.Body = io.NopCloser(strings.NewReader(""))
	}
	h.shared.requests.Add(max(int64(head.Calls)-calls, 0)) // of a client that did not call countCall
	if h.answers == nil {
		h.answers = map[int32]*httpAnswer{}
	}
	h.lastHandle++
	h.answers[h.lastHandle] = &httpAnswer{head: head, leftBytes: body, heldBytes: held, cancel: cancel}
	opened = true
	return h.lastHandle
}

// answer returns the response with the given handle.
func (h *hostState) answer(handle uint64) (*httpAnswer, bool) {
	e, ok := h.answers[api.DecodeI32(handle)]
	return e, ok
}

// httpStatus implements the guest's http_status(handle).
func httpStatus(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	e, ok := r.hostState.answer(s[0])
	if !ok {
		return abi.ErrInvalid
	}
	return int32(e.head.Status)
}

// httpHeader implements the guest's http_header(handle, name, nlen, buf, cap): it writes
// the values of a header of the response, joined by commas.
func httpHeader(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	name := guestBytes(mem, u32(s[1]), u32(s[2]))
	checkBuffer(mem, u32(s[3]), u32(s[4]))
	e, ok := r.hostState.answer(s[0])
	if !ok {
		return abi.ErrInvalid
	}
	var values []string
	for _, f := range e.head.Header {
		// The lengths first: the name may be as long as the guest's memory, and EqualFold needs a copy.
		if len(name) == len(f.Name) && strings.EqualFold(string(name), f.Name) {
			values = append(values, f.Value)
		}
	}
	if values == nil {
		return abi.ErrNotFound
	}
	return writeValue(mem, strings.Join(values, ", "), u32(s[3]), u32(s[4]))
}

// httpRead implements the guest's http_read(handle, buf, cap): it reads the next bytes of
// the body into the buffer, and returns their number, 0 at the end. It waits for one byte
// at least.
func httpRead(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	buf := guestBytes(mem, u32(s[1]), u32(s[2]))
	e, ok := r.hostState.answer(s[0])
	code := r.stopCode()
	switch {
	case !ok:
		return abi.ErrInvalid
	case code < 0:
		return code
	case e.overLimit:
		return r.exceedsBody()
	case len(buf) == 0:
		return 0
	}
	into := buf[:min(int64(len(buf)), max(e.leftBytes, 1), maxTransfer)]
	if e.leftBytes == 0 { // one more byte, which the guest does not get, shows that the body exceeds the limit
		into = make([]byte, 1)
	}
	n, err := 0, error(nil)
	r.waitCancellable(e.cancel, func() { n, err = io.ReadAtLeast(e.head.Body, into, 1) })
	switch {
	case n > 0 && e.leftBytes == 0:
		e.overLimit = true
		return r.exceedsBody()
	case n > 0 || errors.Is(err, io.EOF):
		e.leftBytes -= int64(n)
		return int32(n)
	default:
		return r.errorCode(err)
	}
}

// httpClose implements the guest's http_close(handle): it closes the response and returns
// the memory that was held for it.
func httpClose(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	e, ok := r.hostState.answer(s[0])
	if !ok {
		return abi.ErrInvalid
	}
	e.end()
	r.dropMemory(e.heldBytes)
	delete(r.hostState.answers, api.DecodeI32(s[0]))
	return 0
}

// exceedsBody returns the code for a request or response with a body that is too long.
func (r *run) exceedsBody() int32 {
	return r.exceeds("limits.http_body is %d bytes", orDefault(r.facts.call.Config.Limits.HTTPBody, DefaultHTTPBody))
}

// errorCode returns the ABI's code for an error of an outside call, and makes the error
// the cause of the refusal. If the run should stop, the code says that instead.
func (r *run) errorCode(err error) int32 {
	if code := r.stopCode(); code < 0 {
		return code
	}
	r.setCause(err)
	switch {
	case errors.Is(err, job.ErrDenied):
		return abi.ErrDenied
	case errors.Is(err, errRequest):
		return abi.ErrInvalid
	case errors.Is(err, errCalls):
		return r.exceeds("limits.http_calls is %d", int64(orDefault(r.facts.call.Config.Limits.HTTPCalls, DefaultHTTPCalls)))
	case errors.Is(err, errInserted):
		return abi.ErrLimit
	}
	return abi.ErrIO
}
