package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

var errNoGo = errors.New("the go command is not there")

// probeModule is a guest that the Go toolchain builds, once for all tests.
var probeModule = sync.OnceValues(func() ([]byte, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errNoGo
	}
	dir, err := os.MkdirTemp("", "probe")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "probe.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", out, ".")
	cmd.Dir = filepath.Join("testdata", "probe")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the probe: %w\n%s", err, msg)
	}
	return os.ReadFile(out)
})

// probe returns a function that runs the probe. Its runs share one engine, because
// compiling a Go guest takes a second.
func probe(t *testing.T) func(c job.Call, do, arg string) job.Outcome {
	t.Helper()
	wasm, err := probeModule()
	if errors.Is(err, errNoGo) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	m := load(t, e, wasm)
	return func(c job.Call, do, arg string) job.Outcome {
		c.Config.Settings = map[string]string{"do": do, "arg": arg}
		return e.Run(t.Context(), m, c)
	}
}

func TestGoGuest(t *testing.T) {
	t.Parallel()
	run := probe(t)
	t.Run("facts", func(t *testing.T) { t.Parallel(); testFacts(t, run) })
	t.Run("ends", func(t *testing.T) { t.Parallel(); testEnds(t, run) })
	t.Run("time", func(t *testing.T) { t.Parallel(); testTime(t, run) })
	t.Run("grants", func(t *testing.T) { t.Parallel(); testGrants(t, run) })
	t.Run("files", func(t *testing.T) { t.Parallel(); testFiles(t, run) })
	t.Run("output", func(t *testing.T) { t.Parallel(); testOutput(t, run) })
}

type runner = func(c job.Call, do, arg string) job.Outcome

func wantResult(t *testing.T, out job.Outcome, want string) {
	t.Helper()
	if out.Verdict != job.OK || string(out.Result) != want {
		t.Errorf("verdict %s (%s)\n got %q\nwant %q", out.Verdict, out.Error, out.Result, want)
	}
}

func testFacts(t *testing.T, run runner) {
	c := job.Call{
		Config:   job.Config{Name: "j<1>", Param: "a=b", Timeout: time.Minute},
		Instance: "10.0.0.1@-@7", TaskID: "j@-@0,1", Total: 3, Item: 1, ItemParam: "p'q", HasItemParam: true,
		Items: []int{2, 1}, Params: map[int]string{1: "p'q"},
		RunID: "j/1/5", Attempt: 2, Scheduled: time.UnixMilli(5000), Fence: 77, Failover: true,
	}
	out := run(c, "facts", "")
	wantResult(t, out, "j<1>|j@-@0,1|j/1/5|1|3|p'qtrue|a=b|10.0.0.1@-@7|2|77|true false|5000|5000|65000 true|64")
	if out.HostCalls < 15 || out.PeakBytes < 1<<20 || out.Took <= 0 {
		t.Errorf("cost: %+v", out)
	}
	wantResult(t, run(c, "json", ""), `{"jobName":"j\u003c1\u003e","taskId":"j@-@0,1","shardingTotalCount":3,"jobParameter":"a\u003db","shardingItem":1,"shardingParameter":"p\u0027q",`+
		`"wasmjob":{"runId":"j/1/5","attempt":2,"scheduledTime":5000,"fence":77,"items":{"1":"p\u0027q","2":null}}}`)
	long := strings.Repeat("long ", 20_000) // through the larger buffer
	wantResult(t, run(job.Call{}, "config", long), long)
	wantResult(t, run(job.Call{}, "facts", ""), "|||0|0|false|||0|0|false false|-62135596800000|-62135596800000|-62135596800000 false|64")
}

func testEnds(t *testing.T, run runner) {
	expect(t, run(job.Call{}, "skip", ""), job.Nothing, "no rows")
	expect(t, run(job.Call{}, "retry", ""), job.Retryable, "busy")
	out := run(job.Call{}, "code", "")
	expect(t, out, job.Failure, "special")
	if out.Code != 140 {
		t.Errorf("code %d", out.Code)
	}
	expect(t, run(job.Call{}, "panic", ""), job.Failure, "assignment to entry in nil map")
	expect(t, run(job.Call{}, "throw", ""), job.Failure, "index out of range")
	expect(t, run(job.Call{}, "exit", ""), job.Failure, "exit code 4")
	expect(t, run(job.Call{}, "nonsense", ""), job.Failure, "nothing like that")
	expect(t, run(job.Call{}, "large", ""), job.Failure, "limit exceeded")
	expect(t, run(job.Call{Config: job.Config{Limits: job.Limits{Memory: 16 << 20}}}, "hog", ""), job.Failure, "the memory limit of 16777216 bytes was reached")
}

func testTime(t *testing.T, run runner) {
	short := func(grace time.Duration) job.Call {
		return job.Call{Config: job.Config{Timeout: time.Millisecond, Limits: job.Limits{Grace: grace}, Allow: job.Allow{Clock: "real"}}}
	}
	// A guest that sees its deadline in _initialize cannot report it; allow more time.
	patient := short(time.Hour)
	expect(t, run(patient, "spin", ""), job.Deadline, "stopped: deadline")
	expect(t, run(short(time.Millisecond), "deaf", ""), job.Deadline, "deadline of 1ms passed")
	expect(t, run(short(time.Millisecond), "sleep", ""), job.Deadline, "deadline of 1ms passed")

	at := time.UnixMilli(1_600_000_000_000)
	out := run(job.Call{Scheduled: at}, "clock", "")
	again := run(job.Call{Scheduled: at}, "clock", "")
	if !strings.HasPrefix(string(out.Result), "16000000") || !strings.HasSuffix(string(out.Result), " true") || !bytes.Equal(out.Result, again.Result) {
		t.Errorf("fixed clock: %q, %q (%s)", out.Result, again.Result, out.Error)
	}
	before := time.Now().UnixMilli()
	out = run(job.Call{Config: job.Config{Allow: job.Allow{Clock: "real"}}}, "now", "")
	if ms, _ := strconv.ParseInt(string(out.Result), 10, 64); ms < before || ms > time.Now().UnixMilli() {
		t.Errorf("real clock: %q", out.Result)
	}
}

func testGrants(t *testing.T, run runner) {
	wantResult(t, run(job.Call{}, "env", ""), "")
	wantResult(t, run(job.Call{Config: job.Config{Allow: job.Allow{Env: map[string]string{"TZ": "UTC", "A": "b=c"}}}}, "env", ""), "A=b=c TZ=UTC")
	a := run(job.Call{RunID: "1"}, "random", "").Result
	b := run(job.Call{RunID: "1", Attempt: 2}, "random", "").Result
	c := run(job.Call{RunID: "2"}, "random", "").Result
	if !bytes.Equal(a, b) || bytes.Equal(a, c) || len(a) != 32 {
		t.Errorf("seeded: %s %s %s", a, b, c)
	}
	granted := job.Call{Config: job.Config{Allow: job.Allow{Random: true}}}
	if bytes.Equal(run(granted, "random", "").Result, run(granted, "random", "").Result) {
		t.Error("real random numbers repeat")
	}
}

func testOutput(t *testing.T, run runner) {
	var buf bytes.Buffer
	c := job.Call{Log: slog.New(slog.NewTextHandler(&buf, nil))}
	expect(t, run(c, "print", ""), job.Failure, "it \\x1b[31mfailed\nstderr:\nto stderr")
	for _, want := range []string{`level=INFO msg="to stdout"`, `level=WARN msg="to stderr"`} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("no %s in\n%s", want, buf.String())
		}
	}
	buf.Reset()
	c.Item = 1 // has its own rate
	expect(t, run(c, "flood", ""), job.OK, "")
	if n := strings.Count(buf.String(), "again"); n < DefaultLogRate || n > 500 {
		t.Errorf("%d lines of 1000", n)
	}
	if !strings.Contains(buf.String(), "lines dropped") {
		t.Error("dropped lines are not logged")
	}
}
