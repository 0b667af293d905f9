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

// errCalls is the end of a request that would be one too many.
var errCalls = errors.New("the run has used up its http_calls")

// httpAnswer is a request that was answered, and the body still to be read.
type httpAnswer struct {
	head      *job.HTTPResponse
	leftBytes int64 // bytes that may still come
	overLimit bool  // more came
	heldBytes uint64
	cancel    context.CancelFunc
}

func (e *httpAnswer) end() {
	e.cancel()
	_ = e.head.Body.Close() // nothing is lost that the guest still wanted
}

func httpRequest(ctx context.Context, r *run, mem api.Memory, s []uint64) {
	text := guestBytes(mem, u32(s[0]), u32(s[1]))
	if code := r.stopCode(); code < 0 {
		setResult(s, code)
		return
	}
	fail := func(err error) { // the guest is told a number, its author why
		setResult(s, r.errorCode(err))
		r.logRefusal("request of the guest failed", slog.String("err", readable(r.log.secrets.hideAll(err.Error()), r.log.line)))
	}
	req, err := parseRequest(text)
	if err == nil {
		err = r.fillSecrets(&req)
	}
	if err != nil {
		fail(err)
		return
	}
	o := r.state
	limits := &r.facts.call.Config.Limits
	body := orDefault(limits.HTTPBody, DefaultHTTPBody)
	if int64(len(req.Body)) > body || len(o.answers) >= maxAnswers {
		setResult(s, abi.ErrLimit)
		return
	}
	if o.call.HTTP == nil {
		setResult(s, abi.ErrDenied)
		return
	}
	// The text beside the answer: what is sent is copied from it.
	held := uint64(len(text) + answerBytes)
	if !r.holdMemory(held) {
		setResult(s, abi.ErrLimit)
		return
	}
	opened := false
	defer func() {
		if !opened {
			r.dropMemory(held)
		}
	}()
	// The guest's memory must not be read once it goes on.
	req.Body = append([]byte(nil), req.Body...)
	calls := int64(0) // of this request
	countCall := func() error {
		if o.shared.requests.Add(1) > int64(orDefault(limits.HTTPCalls, DefaultHTTPCalls)) {
			o.shared.requests.Add(-1)
			return errCalls
		}
		calls++
		return nil
	}
	req.Redirect = countCall
	if err := countCall(); err != nil {
		fail(err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var head *job.HTTPResponse
	r.waitCancellable(cancel, func() { head, err = o.call.HTTP.Do(ctx, req) })
	if err != nil {
		cancel()
		fail(err)
		return
	}
	if head.Body == nil {
		head.Body = io.NopCloser(strings.NewReader(""))
	}
	o.shared.requests.Add(max(int64(head.Calls)-calls, 0)) // of a sender that did not ask
	if o.answers == nil {
		o.answers = map[int32]*httpAnswer{}
	}
	o.lastHandle++
	o.answers[o.lastHandle] = &httpAnswer{head: head, leftBytes: body, heldBytes: held, cancel: cancel}
	opened = true
	setResult(s, o.lastHandle)
}

// answer finds the answer that a guest means.
func (o *hostState) answer(handle uint64) (*httpAnswer, bool) {
	e, ok := o.answers[api.DecodeI32(handle)]
	return e, ok
}

func httpStatus(_ context.Context, r *run, _ api.Memory, s []uint64) {
	e, ok := r.state.answer(s[0])
	if !ok {
		setResult(s, abi.ErrInvalid)
		return
	}
	setResult(s, int32(e.head.Status))
}

func httpHeader(_ context.Context, r *run, mem api.Memory, s []uint64) {
	name := guestBytes(mem, u32(s[1]), u32(s[2]))
	guestBytes(mem, u32(s[3]), u32(s[4]))
	e, ok := r.state.answer(s[0])
	if !ok {
		setResult(s, abi.ErrInvalid)
		return
	}
	var values []string
	for _, f := range e.head.Header {
		if len(name) == len(f.Name) && strings.EqualFold(string(name), f.Name) {
			values = append(values, f.Value)
		}
	}
	if values == nil {
		setResult(s, abi.ErrNotFound)
		return
	}
	setResult(s, writeValue(mem, strings.Join(values, ", "), u32(s[3]), u32(s[4])))
}

func httpRead(_ context.Context, r *run, mem api.Memory, s []uint64) {
	buf := guestBytes(mem, u32(s[1]), u32(s[2]))
	e, ok := r.state.answer(s[0])
	code := r.stopCode()
	switch {
	case !ok:
		setResult(s, abi.ErrInvalid)
		return
	case code < 0:
		setResult(s, code)
		return
	case e.overLimit:
		setResult(s, abi.ErrLimit)
		return
	case len(buf) == 0:
		setResult(s, 0)
		return
	}
	// One byte more than is allowed tells a body of just the limit from a
	// larger one.
	into := buf[:min(int64(len(buf)), max(e.leftBytes, 1), maxTransfer)]
	if e.leftBytes == 0 {
		into = make([]byte, 1)
	}
	n, err := 0, error(nil)
	r.waitCancellable(e.cancel, func() { n, err = io.ReadAtLeast(e.head.Body, into, 1) })
	switch {
	case n > 0 && e.leftBytes == 0:
		e.overLimit = true
		setResult(s, abi.ErrLimit)
	case n > 0 || errors.Is(err, io.EOF):
		e.leftBytes -= int64(n)
		setResult(s, int32(n))
	default:
		setResult(s, r.errorCode(err))
	}
}

func httpClose(_ context.Context, r *run, _ api.Memory, s []uint64) {
	e, ok := r.state.answer(s[0])
	if !ok {
		setResult(s, abi.ErrInvalid)
		return
	}
	e.end()
	r.dropMemory(e.heldBytes)
	delete(r.state.answers, api.DecodeI32(s[0]))
	setResult(s, 0)
}

// errorCode is the code for what went wrong on the way to the outside. If the
// run should stop, that was the reason.
func (r *run) errorCode(err error) int32 {
	if code := r.stopCode(); code < 0 {
		return code
	}
	switch {
	case errors.Is(err, job.ErrDenied):
		return abi.ErrDenied
	case errors.Is(err, errRequest):
		return abi.ErrInvalid
	case errors.Is(err, errCalls):
		return abi.ErrLimit
	}
	return abi.ErrIO
}
