package wasmjob

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestContextTellsWhatTheHostKnows(t *testing.T) {
	t.Parallel()
	param := "north"
	long := strings.Repeat("x", 10_000)
	f := &Fake{
		JobName: "j", TaskID: "t", RunID: "r", JobParam: long, Instance: "i", Namespace: "n", ModuleDigest: "d", Seed: "s",
		Item: 1, Total: 3, Param: &param, Attempt: 2, Fence: 1 << 40, HostMinor: 6, FetchCount: 7, Failover: true, Streaming: true,
		Scheduled: time.UnixMilli(5), Deadline: time.UnixMilli(9), JSON: `{}`, Config: map[string]string{"k": "v", "empty": ""},
	}
	c := f.Context()
	got := fmt.Sprint(c.JobName(), c.TaskID(), c.RunID(), c.Instance(), c.Namespace(), c.ModuleDigest(), c.Seed(),
		c.Item(), c.Total(), c.Attempt(), c.Fence(), c.HostMinor(), c.FetchCount(), c.Failover(), c.Misfire(), c.Streaming(),
		c.Scheduled().UnixMilli(), c.Fired().IsZero(), string(c.JSON()))
	if got != "jtrinds1 3 2 1099511627776 6 7 true false true 5 true{}" {
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
	f := &Fake{MaxResult: 8, Stop: func() Reason { return StopShutdown }, Least: LevelInfo}
	c := f.Context()
	if err := c.ResultJSON([]int{1, 2}); err != nil || string(f.Result) != "[1,2]" {
		t.Errorf("result %s, %v", f.Result, err)
	}
	if err := c.ResultString("much too long"); !errors.Is(err, ErrLimit) || err.Error() != "set result: limit exceeded" || string(f.Result) != "[1,2]" {
		t.Errorf("result %s, %v", f.Result, err)
	}
	if err := c.ResultJSON(func() {}); err == nil {
		t.Error("a function is JSON")
	}
	if r := c.Cancelled(); r != StopShutdown || r.String() != "shutdown" {
		t.Errorf("cancelled: %v", r)
	}
	c.Progress(3, 4)
	c.Debug("nobody wants it")
	c.Info("a")
	c.Logf(LevelDebug, "%v", nil)
	c.Logf(LevelWarn, "b%d", 1)
	c.Log(77, "c")
	if f.Done != 3 || f.Goals != 4 || strings.Join(f.Logs, " ") != "a b1 c" || c.Enabled(LevelDebug) {
		t.Errorf("progress %d of %d, logs %q", f.Done, f.Goals, f.Logs)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	f := &Fake{}
	c := f.Context()
	if err := errors.Join(c.Metric("rows", 2.5), c.Metric("rows", 2.5), c.Metric("a.b-c_D9", 0)); err != nil || f.Metrics["rows"] != 5 {
		t.Errorf("%v, %v", f.Metrics, err)
	}
	for name, v := range map[string]float64{"": 1, "no good": 1, strings.Repeat("x", 65): 1, "nan": math.NaN(), "inf": math.Inf(-1)} {
		if err := c.Metric(name, v); !errors.Is(err, ErrInvalid) {
			t.Errorf("metric %q %v: %v", name, v, err)
		}
	}
	for i := range 62 {
		if err := c.Metric(strconv.Itoa(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Metric("more", 1); !errors.Is(err, ErrLimit) {
		t.Errorf("the 65th metric: %v", err)
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	f := &Fake{Clock: time.UnixMilli(1000)}
	c := f.Context()
	if err := c.Sleep(1500 * time.Microsecond); err != nil {
		t.Fatal(err)
	}
	if now, err := c.Now(); err != nil || now.UnixMilli() != 1002 {
		t.Errorf("now %v, %v", now, err)
	}
	if err := errors.Join(c.Sleep(60*24*time.Hour), c.Sleep(-time.Hour)); err != nil || f.Slept != 60*24*time.Hour+2*time.Millisecond {
		t.Errorf("slept %v, %v", f.Slept, err)
	}
	if _, err := (&Fake{}).Context().Now(); !errors.Is(err, ErrDenied) || err.Error() != "look at the clock: not granted" {
		t.Errorf("a clock out of nothing: %v", err)
	}
	f.Slept, f.Stop = 0, func() Reason {
		if f.Slept > 0 {
			return StopDeadline
		}
		return Continue
	}
	if err := c.Sleep(math.MaxInt64); !errors.Is(err, ErrCancelled) || f.Slept != longest*time.Millisecond {
		t.Errorf("slept %v: %v", f.Slept, err)
	}
}

func TestRandomAndSecrets(t *testing.T) {
	t.Parallel()
	const size = randomAtOnce + 1000
	f := &Fake{Random: bytes.NewReader(bytes.Repeat([]byte{7}, size)), Secrets: map[string]string{"token": "s"}}
	c := f.Context()
	b := make([]byte, size)
	if err := c.Random(b); err != nil || b[0] != 7 || b[size-1] != 7 {
		t.Errorf("random bytes: %v", err)
	}
	if err := c.Random(b[:1]); !errors.Is(err, ErrIO) {
		t.Errorf("a source that is used up: %v", err)
	}
	if err := (&Fake{}).Context().Random(b); !errors.Is(err, ErrDenied) {
		t.Errorf("random bytes out of nothing: %v", err)
	}
	if s, err := c.Secret("token"); s != "s" || err != nil {
		t.Errorf("secret %q, %v", s, err)
	}
	if s, err := c.Secret("other"); s != "" || !errors.Is(err, ErrDenied) || err.Error() != "read secret other: not granted" {
		t.Errorf("secret %q, %v", s, err)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	f := &Fake{State: map[string]string{"text": "x", "n": "41"}}
	step := func(c Context) error {
		s := c.State()
		n, err := s.Int("n")
		if err != nil {
			return err
		}
		if _, err := s.Get("none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("a value out of nothing: %v", err)
		}
		if zero, err := s.Int("none"); zero != 0 || err != nil {
			t.Errorf("a number out of nothing: %d, %v", zero, err)
		}
		if _, err := s.Int("text"); !errors.Is(err, ErrInvalid) {
			t.Errorf("x as a number: %v", err)
		}
		if err := s.Delete("none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("deleted nothing: %v", err)
		}
		for _, key := range []string{"", strings.Repeat("k", 257), "\xff"} {
			if err := s.Set(key, nil); !errors.Is(err, ErrInvalid) {
				t.Errorf("key %q: %v", key, err)
			}
		}
		return s.SetInt("n", n+1)
	}
	if code := f.Run(step); code != 0 || f.State["n"] != "42" {
		t.Errorf("code %d, %s, %v", code, f.Err, f.State)
	}
	f.Run(func(c Context) error { return errors.Join(step(c), errors.New("and then")) })
	f.Run(func(c Context) error {
		_ = step(c)
		panic("oh")
	})
	if f.State["n"] != "42" {
		t.Errorf("a failed run has set %v", f.State)
	}
	for i := range 62 {
		if err := f.Context().State().SetInt(strconv.Itoa(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Context().State().SetInt("more", 1); !errors.Is(err, ErrLimit) {
		t.Errorf("the 65th value: %v", err)
	}
	denied := (&Fake{}).Context().State()
	_, err := denied.Int("n")
	for _, err := range []error{err, denied.SetInt("n", 1), denied.Delete("n")} {
		if !errors.Is(err, ErrDenied) {
			t.Errorf("not granted: %v", err)
		}
	}
}

func TestEveryErrorHasItsText(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for e := ErrUnknownField; e >= ErrInternal; e-- {
		seen[e.Error()] = true
	}
	for r := Continue; r <= StopSessionLost; r++ {
		seen[r.String()] = true
	}
	if len(seen) != 11+6 || seen[HostError(-12).Error()] || seen[Reason(6).String()] {
		t.Errorf("%d texts", len(seen))
	}
}
