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

// exchange is a request that was answered, and the body still to be read.
type exchange struct {
	head   *job.HTTPResponse
	left   int64 // bytes that may still come
	over   bool  // more came
	held   uint64
	cancel context.CancelFunc
}

func (e *exchange) end() {
	e.cancel()
	_ = e.head.Body.Close() // nothing is lost that the guest still wanted
}

func httpRequest(ctx context.Context, r *run, mem api.Memory, s []uint64) {
	text := bytesAt(mem, u32(s[0]), u32(s[1]))
	if code := r.stopCode(); code < 0 {
		answer(s, code)
		return
	}
	fail := func(err error) { // the guest is told a number, its author why
		answer(s, r.failure(err))
		r.explain("request of the guest failed", slog.String("err", readable(r.journal.secrets.all(err.Error()), r.journal.line)))
	}
	req, err := parseRequest(text)
	if err == nil {
		err = r.fillSecrets(&req)
	}
	if err != nil {
		fail(err)
		return
	}
	o := r.outside
	limits := &r.facts.call.Config.Limits
	body := orDefault(limits.HTTPBody, DefaultHTTPBody)
	if int64(len(req.Body)) > body || len(o.answers) >= maxAnswers {
		answer(s, abi.ErrLimit)
		return
	}
	if o.call.HTTP == nil {
		answer(s, abi.ErrDenied)
		return
	}
	// The text beside the answer: what is sent is copied from it.
	held := uint64(len(text) + answerBytes)
	if !r.hold(held) {
		answer(s, abi.ErrLimit)
		return
	}
	got := false
	defer func() {
		if !got {
			r.drop(held)
		}
	}()
	// The guest's memory must not be read once it goes on.
	req.Body = append([]byte(nil), req.Body...)
	calls := int64(0) // of this request
	take := func() error {
		if o.shared.requests.Add(1) > int64(orDefault(limits.HTTPCalls, DefaultHTTPCalls)) {
			o.shared.requests.Add(-1)
			return errCalls
		}
		calls++
		return nil
	}
	req.Redirect = take
	if err := take(); err != nil {
		fail(err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var head *job.HTTPResponse
	r.heed(cancel, func() { head, err = o.call.HTTP.Do(ctx, req) })
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
		o.answers = map[int32]*exchange{}
	}
	o.handle++
	o.answers[o.handle] = &exchange{head: head, left: body, held: held, cancel: cancel}
	got = true
	answer(s, o.handle)
}

// open finds the answer that a guest means.
func (o *outside) open(handle uint64) (*exchange, bool) {
	e, ok := o.answers[api.DecodeI32(handle)]
	return e, ok
}

func httpStatus(_ context.Context, r *run, _ api.Memory, s []uint64) {
	e, ok := r.outside.open(s[0])
	if !ok {
		answer(s, abi.ErrInvalid)
		return
	}
	answer(s, int32(e.head.Status))
}

func httpHeader(_ context.Context, r *run, mem api.Memory, s []uint64) {
	name := bytesAt(mem, u32(s[1]), u32(s[2]))
	bytesAt(mem, u32(s[3]), u32(s[4]))
	e, ok := r.outside.open(s[0])
	if !ok {
		answer(s, abi.ErrInvalid)
		return
	}
	var values []string
	for _, f := range e.head.Header {
		if len(name) == len(f.Name) && strings.EqualFold(string(name), f.Name) {
			values = append(values, f.Value)
		}
	}
	if values == nil {
		answer(s, abi.ErrNotFound)
		return
	}
	answer(s, give(mem, strings.Join(values, ", "), u32(s[3]), u32(s[4])))
}

func httpRead(_ context.Context, r *run, mem api.Memory, s []uint64) {
	buf := bytesAt(mem, u32(s[1]), u32(s[2]))
	e, ok := r.outside.open(s[0])
	code := r.stopCode()
	switch {
	case !ok:
		answer(s, abi.ErrInvalid)
		return
	case code < 0:
		answer(s, code)
		return
	case e.over:
		answer(s, abi.ErrLimit)
		return
	case len(buf) == 0:
		answer(s, 0)
		return
	}
	// One byte more than is allowed tells a body of just the limit from a
	// larger one.
	into := buf[:min(int64(len(buf)), max(e.left, 1), maxPiece)]
	if e.left == 0 {
		into = make([]byte, 1)
	}
	n, err := 0, error(nil)
	r.heed(e.cancel, func() { n, err = io.ReadAtLeast(e.head.Body, into, 1) })
	switch {
	case n > 0 && e.left == 0:
		e.over = true
		answer(s, abi.ErrLimit)
	case n > 0 || errors.Is(err, io.EOF):
		e.left -= int64(n)
		answer(s, int32(n))
	default:
		answer(s, r.failure(err))
	}
}

func httpClose(_ context.Context, r *run, _ api.Memory, s []uint64) {
	e, ok := r.outside.open(s[0])
	if !ok {
		answer(s, abi.ErrInvalid)
		return
	}
	e.end()
	r.drop(e.held)
	delete(r.outside.answers, api.DecodeI32(s[0]))
	answer(s, 0)
}

// failure is the code for what went wrong on the way to the outside. If the
// run should stop, that was the reason.
func (r *run) failure(err error) int32 {
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
