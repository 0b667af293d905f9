package wasmjob

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
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
		{"panic with text", func(Context) error { panic("oh") }, 1, "panic: oh\n"},
		{"panic with an error", func(c Context) error { return []error{nil}[c.Total()+1] }, 1, "panic: runtime error: index out of range"},
		{"panic with a value", func(Context) error { panic(7) }, 1, "panic: a value that is not text"},
		{"no job", nil, -1, "wasmjob.Simple"},
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
}

func TestContextTellsWhatTheHostKnows(t *testing.T) {
	t.Parallel()
	param := "north"
	long := strings.Repeat("x", 10_000)
	f := &Fake{
		JobName: "j", TaskID: "t", RunID: "r", JobParam: long, Instance: "i", ModuleDigest: "d", Seed: "s",
		Item: 1, Total: 3, Param: &param, Attempt: 2, Fence: 1 << 40, Failover: true,
		Scheduled: time.UnixMilli(5), Deadline: time.UnixMilli(9), JSON: `{}`, Config: map[string]string{"k": "v", "empty": ""},
	}
	c := f.Context()
	got := fmt.Sprint(c.JobName(), c.TaskID(), c.RunID(), c.Instance(), c.ModuleDigest(), c.Seed(),
		c.Item(), c.Total(), c.Attempt(), c.Fence(), c.Failover(), c.Misfire(), c.Scheduled().UnixMilli(), c.Fired().IsZero(), string(c.JSON()))
	if got != "jtrids1 3 2 1099511627776 true false 5 true{}" {
		t.Error(got)
	}
	if c.JobParam() != long {
		t.Error("a long value did not come through the larger buffer")
	}
	if p, ok := c.Param(); p != param || !ok {
		t.Errorf("parameter %q, %v", p, ok)
	}
	if d, ok := c.Deadline(); d.UnixMilli() != 9 || !ok {
		t.Errorf("deadline %v, %v", d, ok)
	}
	for key, want := range map[string]bool{"k": true, "empty": true, "none": false} {
		if v, ok := c.Config(key); ok != want || v != f.Config[key] {
			t.Errorf("setting %s: %q, %v", key, v, ok)
		}
	}
	if _, ok := (&Fake{}).Context().Param(); ok {
		t.Error("a parameter out of nothing")
	}
	if _, ok := (&Fake{}).Context().Deadline(); ok {
		t.Error("a deadline out of nothing")
	}
}

func TestContextTellsTheHost(t *testing.T) {
	t.Parallel()
	f := &Fake{MaxResult: 8, Stop: func() Reason { return StopShutdown }}
	c := f.Context()
	if err := c.ResultJSON([]int{1, 2}); err != nil || string(f.Result) != "[1,2]" {
		t.Errorf("result %s, %v", f.Result, err)
	}
	if err := c.ResultString("much too long"); !errors.Is(err, ErrLimit) || string(f.Result) != "[1,2]" {
		t.Errorf("result %s, %v", f.Result, err)
	}
	if err := c.ResultJSON(func() {}); err == nil {
		t.Error("a function is JSON")
	}
	if r := c.Cancelled(); r != StopShutdown || r.String() != "shutdown" {
		t.Errorf("cancelled: %v", r)
	}
	c.Progress(3, 4)
	c.Info("a")
	c.Logf(LevelWarn, "b%d", 1)
	c.Log(77, "c")
	if f.Done != 3 || f.Goals != 4 || strings.Join(f.Logs, " ") != "a b1 c" {
		t.Errorf("progress %d of %d, logs %q", f.Done, f.Goals, f.Logs)
	}
}

// Without a host a job gets empty answers, not a crash.
func TestWithoutAHost(t *testing.T) {
	t.Parallel()
	c := Context{guest{}}
	_, hasParam := c.Param()
	_, hasSetting := c.Config("k")
	if c.JobName() != "" || c.Item() != 0 || hasParam || hasSetting || c.Enabled(LevelError) || c.Cancelled() != Continue {
		t.Error("answers without a host")
	}
	c.Info("into the void")
	c.Progress(1, 2)
	if err := c.ResultString("x"); err == nil {
		t.Error("a result without a host")
	}
	if code := runJob(guest{}, func(Context) error { return Retry }); code != resultRetryable {
		t.Errorf("code %d", code)
	}
}
