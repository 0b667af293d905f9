package sandbox

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

func TestRunMemoryLimit(t *testing.T) {
	t.Parallel()
	// It grows page by page until refused, and returns the size plus 200.
	grower := (&builder{}).job(
		op(0x03, 0x40), i32(1), op(0x40, 0), i32(-1), op(0x47, 0x0d, 0), op(opEnd),
		op(0x3f, 0), i32(200), op(opI32Add))
	e := newEngine(t)
	m := load(t, e, grower)
	for _, pages := range []int64{1, 10, 100} {
		out := e.Run(t.Context(), m, job.Call{Config: job.Config{Limits: job.Limits{Memory: pages*pageSize + 5}}})
		if int64(out.Code) != 200+pages || out.PeakBytes != pages*pageSize {
			t.Errorf("limit %d pages: code %d, peak %d", pages, out.Code, out.PeakBytes)
		}
	}
	out := e.Run(t.Context(), m, job.Call{})
	if out.PeakBytes != DefaultMemory {
		t.Errorf("default limit: peak %d", out.PeakBytes)
	}
	// A module whose initial memory exceeds the limit does not start.
	big := load(t, e, (&builder{}).pages(3).job(i32(0)))
	expect(t, e.Run(t.Context(), big, job.Call{Config: job.Config{Limits: job.Limits{Memory: 2 * pageSize}}}), job.Failure, "raise limits.memory")
}

func TestRunInstancesShareNothing(t *testing.T) {
	t.Parallel()
	// It returns the byte at 100 plus 200, and sets that byte.
	wasm := (&builder{}).job(
		i32(100), op(0x2d, 0, 0), i32(200), op(opI32Add),
		i32(100), i32(1), op(0x3a, 0, 0))
	e := newEngine(t)
	m := load(t, e, wasm)
	for range 3 {
		if out := e.Run(t.Context(), m, job.Call{}); out.Code != 200 {
			t.Fatalf("code %d", out.Code)
		}
	}
}

func TestRunResultLimit(t *testing.T) {
	t.Parallel()
	b := &builder{}
	f := b.abi(abi.FuncResultSet)
	// First 4 bytes, which fit, then 5, which do not.
	wasm := b.putData(0, "abcde").job(i32(0), i32(4), call(f), op(opDrop), i32(0), i32(5), call(f))
	out := runOnce(t, wasm, job.Call{Config: job.Config{Limits: job.Limits{Result: 4}}})
	if out.Code != abi.ErrLimit || string(out.Result) != "abcd" {
		t.Errorf("code %d, result %q", out.Code, out.Result)
	}
}

// One call of a guest can write the same bytes a million times.
func TestOutputEndsWithTheRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w := &lineWriter{ctx: ctx, log: &guestLog{line: 10}}
	if n, err := w.Write([]byte("a\nb")); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	cancel()
	if _, err := w.Write([]byte("c")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestRunErrorText(t *testing.T) {
	t.Parallel()
	b := &builder{}
	f := b.abi(abi.FuncErrorSet)
	wasm := b.putData(0, "no \x1b[31mdisk\nleft\xff").job(i32(0), i32(19), call(f), op(opDrop), i32(130))
	expect(t, runOnce(t, wasm, job.Call{}), job.Failure, "no \\x1b[31mdisk\nleft\ufffd")
}

func TestRunLogs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo}))
	b := &builder{}
	f, level := b.abi(abi.FuncLog), b.abi(abi.FuncLogLevel)
	say := func(lvl, at, n int64) []byte { return bytes.Join([][]byte{i32(lvl), i32(at), i32(n), call(f)}, nil) }
	wasm := b.putData(0, "quiet").putData(10, "a\nb\x07").putData(20, "much too long").job(
		say(1, 0, 5), say(2, 10, 4), say(4, 20, 13), say(2, 0, 1), say(2, 0, 1), call(level))
	got := runOnce(t, wasm, job.Call{
		Config: job.Config{Name: "j", Limits: job.Limits{LogLine: 8, LogRate: 2}},
		Item:   4, TaskID: "t", Log: log,
	})
	if got.Code != abi.LevelInfo {
		t.Errorf("log_level said %d", got.Code)
	}
	for _, want := range []string{`msg=a\nb\x07`, `level=ERROR msg="much too..."`, "lines=2", "job=j item=4 task=t module=" + got.Digest} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}
