package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// asking is a guest that calls the host several times. Its result is the return value of
// each call, and its whole memory.
type asking struct {
	b     builder
	funcs map[string]uint32
	code  []byte
	free  int64 // memory that is allocated
	calls int64
	end   []byte // code that leaves the entry's result; nil: 0
}

const answersAt = 0xe000

// put places data in the guest's memory.
func (a *asking) put(s string) int64 {
	at := a.room(len(s))
	a.b.putData(at, s)
	return at
}

// room reserves memory that nothing else uses.
func (a *asking) room(n int) int64 {
	at := a.free + 16
	a.free = at + int64(n)
	return at
}

// ask calls a function of the ABI: a string becomes its pointer and length.
func (a *asking) ask(name string, args ...any) *asking {
	if a.funcs == nil {
		a.funcs = map[string]uint32{}
	}
	f, known := a.funcs[name]
	if !known {
		f = a.b.abi(name)
		a.funcs[name] = f
	}
	var code []byte
	for _, arg := range args {
		switch v := arg.(type) {
		case int:
			code = append(code, i32(int64(int32(v)))...)
		case int64:
			code = append(code, i32(v)...)
		case float64:
			code = binary.LittleEndian.AppendUint64(append(code, 0x44), math.Float64bits(v))
		case string:
			code = slices.Concat(code, i32(a.put(v)), i32(int64(len(v))))
		}
	}
	code = append(code, call(f)...)
	results := ""
	for _, of := range abi.Functions() {
		if of.Name == name {
			results = of.Results
		}
	}
	switch results {
	case "":
		a.code = append(a.code, code...)
		return a
	case "i":
		code = append(code, 0xac) // i64.extend_i32_s
	}
	a.code = slices.Concat(a.code, i32(answersAt+8*a.calls), code, op(0x37, 3, 0))
	a.calls++
	return a
}

func (a *asking) wasm() []byte {
	result := a.b.abi(abi.FuncResultSet)
	end := a.end
	if end == nil {
		end = i32(0)
	}
	return a.b.job(a.code, drop(invokes(result, 0, pageSize)), end)
}

// run returns the calls' return values, the memory, and the outcome.
func (a *asking) run(t *testing.T, c job.Call) ([]int64, []byte, job.Outcome) {
	t.Helper()
	out := runOnce(t, a.wasm(), c)
	if len(out.Result) != pageSize {
		return nil, make([]byte, pageSize), out
	}
	return answersOf(out, int(a.calls)), out.Result, out
}

// answersOf decodes the return values of the given number of calls.
func answersOf(out job.Outcome, calls int) (answers []int64) {
	for i := range calls {
		if len(out.Result) == pageSize {
			answers = append(answers, int64(binary.LittleEndian.Uint64(out.Result[answersAt+8*i:])))
		}
	}
	return answers
}

// wants runs the guest and compares the calls' return values.
func (a *asking) wants(t *testing.T, c job.Call, want ...int64) ([]byte, job.Outcome) {
	t.Helper()
	got, mem, out := a.run(t, c)
	if !slices.Equal(got, want) {
		t.Errorf("answers %d, want %d (%s: %s)", got, want, out.Verdict, out.Error)
	}
	return mem, out
}

// fakeState is a state in memory.
type fakeState struct {
	values        map[string][]byte
	loads, saves  int
	noLoad, noSav error
}

func (s *fakeState) Load(context.Context) (map[string][]byte, error) {
	s.loads++
	return maps.Clone(s.values), s.noLoad
}

func (s *fakeState) Save(_ context.Context, values map[string][]byte) error {
	s.saves++
	if s.noSav == nil {
		s.values = values
	}
	return s.noSav
}

func (s *fakeState) String() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		b.WriteString(key + "=" + string(s.values[key]) + " ")
	}
	return strings.TrimSpace(b.String())
}

// network answers requests without a network.
type network struct {
	mu     sync.Mutex // guards the fields below
	asked  []job.HTTPRequest
	bodies []*stream

	do func(ctx context.Context, r job.HTTPRequest) (*job.HTTPResponse, error)
}

// stream records whether it was closed.
type stream struct {
	io.Reader
	closed bool
}

func (b *stream) Close() error {
	b.closed = true
	return nil
}

// Do implements job.HTTP.
func (n *network) Do(ctx context.Context, r job.HTTPRequest) (*job.HTTPResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, r)
	if n.do != nil {
		return n.do(ctx, r)
	}
	if strings.HasSuffix(r.URL, "/denied") {
		return nil, job.ErrDenied
	}
	if strings.HasSuffix(r.URL, "/broken") {
		return nil, errors.New("no route")
	}
	b := &stream{Reader: strings.NewReader("hello " + r.Method + string(r.Body))}
	n.bodies = append(n.bodies, b)
	return &job.HTTPResponse{
		Status: 200, Body: b, Calls: 1,
		Header: []job.HTTPField{{Name: "X-A", Value: "1"}, {Name: "Other", Value: "o"}, {Name: "x-a", Value: "2"}},
	}, nil
}

// granted returns a call with every grant that a module can have.
func granted(change func(*job.Call)) job.Call {
	c := job.Call{
		Config:  job.Config{Allow: job.Allow{State: true, Random: true, Clock: "real", Secrets: []string{"key", "lines"}, HTTP: []string{"https://a"}}},
		State:   &fakeState{},
		HTTP:    &network{},
		Secrets: map[string]string{"key": "s3cret", "lines": "first line\nsecond line\n}\n", "hidden": "not granted"},
	}
	if change != nil {
		change(&c)
	}
	return c
}
