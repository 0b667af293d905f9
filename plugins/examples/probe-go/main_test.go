package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	url := "https://example.org/health"
	for name, tt := range map[string]struct {
		answer wasmjob.FakeAnswer
		err    error
		code   int32
		text   string
	}{
		"well":         {wasmjob.FakeAnswer{Body: "all ok", Header: map[string]string{"Content-Type": "text/plain"}}, nil, 0, "https://example.org/health: well, 6 bytes of text/plain"},
		"other text":   {wasmjob.FakeAnswer{Body: "all bad"}, nil, 200, `"ok" is not in the answer`},
		"not found":    {wasmjob.FakeAnswer{Status: 404}, nil, 200, "status 404"},
		"broken":       {wasmjob.FakeAnswer{Status: 503}, nil, 2, "status 503"},
		"away":         {wasmjob.FakeAnswer{}, errors.New("no route"), 2, "input or output failed"},
		"slow":         {wasmjob.FakeAnswer{}, wasmjob.ErrTimeout, 2, "timed out"},
		"not granted":  {wasmjob.FakeAnswer{}, wasmjob.ErrDenied, 1, "not granted"},
		"to be ended":  {wasmjob.FakeAnswer{}, wasmjob.ErrCancelled, 1, "being stopped"},
		"out of calls": {wasmjob.FakeAnswer{}, wasmjob.ErrLimit, 1, "limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &wasmjob.Fake{Param: &url, Config: map[string]string{"contains": "ok"}, Clock: time.UnixMilli(1000)}
			f.HTTP = func(r wasmjob.Request) (wasmjob.FakeAnswer, error) {
				if r.Method != "GET" || r.URL != url {
					t.Errorf("asked for %s %s", r.Method, r.URL)
				}
				f.Clock = f.Clock.Add(40 * time.Millisecond)
				return tt.answer, tt.err
			}
			code := f.Run(probe)
			if code != tt.code || !strings.Contains(f.Err+string(f.Result), tt.text) {
				t.Errorf("code %d, %s, result %q", code, f.Err, f.Result)
			}
			if tt.err == nil && f.Metrics["ms"] != 40 {
				t.Errorf("metrics %v", f.Metrics)
			}
		})
	}
	if f := (&wasmjob.Fake{}); f.Run(probe) != 1 || !strings.Contains(f.Err, "no parameter") {
		t.Errorf("without a URL: %s", f.Err)
	}
}
