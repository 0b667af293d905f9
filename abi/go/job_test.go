package wasmjob

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestResultCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		job  func(Context) error
		code int32
		text string
	}{
		{"success", func(Context) error { return nil }, 0, ""},
		{"error", func(Context) error { return errors.New("disk full") }, 1, "disk full"},
		{"retry", func(Context) error { return fmt.Errorf("busy: %w", Retry) }, 2, "busy: try again"},
		{"skip", func(Context) error { return Skip }, 3, "nothing to do"},
		{"own code", func(Context) error { return fmt.Errorf("a: %w", WithCode(200, errors.New("b"))) }, 200, "a: b"},
		{"reserved code", func(Context) error { return WithCode(5, errors.New("b")) }, 1, "b"},
		{"no error with a code", func(Context) error { return WithCode(200, nil) }, 0, ""},
		{"panic with text", func(Context) error { panic("oh") }, 1, "panic: oh"},
		{"panic with an error", func(c Context) error { return []error{nil}[c.Total()+1] }, 1, "panic: runtime error: index out of range"},
		{"panic with a stringer", func(Context) error { panic(StopShutdown) }, 1, "panic: shutdown"},
		{"panic with a number", func(Context) error { panic(-7) }, 1, "panic: -7"},
		{"panic with a fraction", func(Context) error { panic(0.5) }, 1, "panic: 0.5"},
		{"panic with a truth", func(Context) error { panic(false) }, 1, "panic: false"},
		{"panic with a value", func(Context) error { panic([]int{7}) }, 1, "panic: a value that is not text"},
		{"no job", nil, -1, "call Register"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &Fake{}
			if code := f.Run(tt.job); code != tt.code || !strings.Contains(f.Err, tt.text) || (tt.text == "") != (f.Err == "") {
				t.Errorf("code %d, %q; want %d, %q", code, f.Err, tt.code, tt.text)
			}
		})
	}
	for name, code := range map[string]int32{
		"fetch": new(Fake).Fetch(nil), "process": new(Fake).Process(nil), "shard": new(Fake).Shard(nil),
		"no host": Run(nil), "no host, fetch": RunFetch(nil), "no host, process": RunProcess(nil), "no host, shard": RunShard(nil),
	} {
		if code != -1 {
			t.Errorf("%s of nothing: code %d", name, code)
		}
	}
}

// The host receives the text of a panic before the panic continues.
func TestAPanicGoesOn(t *testing.T) {
	t.Parallel()
	f := &Fake{}
	defer func() {
		if p := recover(); p != "oh" || f.Err != "panic: oh" {
			t.Errorf("recovered %v, told %q", p, f.Err)
		}
	}()
	runJob(f, func(Context) error { panic("oh") })
}

// Without a host a job gets empty values and does not crash.
func TestWithoutAHost(t *testing.T) {
	t.Parallel()
	code := Run(func(c Context) error {
		_, hasParam := c.Param()
		_, hasSetting := c.Config("k")
		if c.JobName() != "" || c.Item() != 0 || hasParam || hasSetting || c.Cancelled() != Continue {
			t.Error("answers without a host")
		}
		c.Info("into the void")
		c.Progress(1, 2)
		if _, err := c.State().Get("k"); !errors.Is(err, ErrDenied) {
			t.Errorf("state without a host: %v", err)
		}
		return Retry
	})
	if code != resultRetryable {
		t.Errorf("code %d", code)
	}
}
