//go:build unix

package native

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/internal/native/nativetest"
	"github.com/wasmjob/wasmjob/host/job"
)

// TestMain lets tests start this binary as the supervisor.
func TestMain(m *testing.M) {
	nativetest.Serve(Supervise)
	goleak.VerifyTestMain(m)
}

// open opens Commands on a directory.
func open(t *testing.T, dir string) *Commands {
	t.Helper()
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), Options{Dir: dir, Lock: lock, Supervisor: nativetest.CommandLine(t), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.End(context.Background())
		c.Close()
		_ = lock.Close()
	})
	return c
}

// Operators learn that commands get no control group, unless none may run.
func TestMissingControlGroupIsLogged(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[bool]string{true: "level=WARN", false: "level=DEBUG"} {
		lock, err := os.Create(filepath.Join(t.TempDir(), "lock"))
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		o := Options{Dir: filepath.Join(t.TempDir(), "missing"), Lock: lock, Allowed: allowed} // where no group can be noted
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if text := log.String(); !strings.Contains(text, want+` msg="commands get no control group`) {
			t.Errorf("allowed: %t: the log is %q", allowed, text)
		}
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}
}

func call(t *testing.T, line string) (*Command, job.Call) {
	t.Helper()
	return callOf(t, open(t, t.TempDir()), line)
}

func callOf(t *testing.T, all *Commands, line string) (*Command, job.Call) {
	t.Helper()
	k, err := all.New(line)
	if err != nil {
		t.Fatal(err)
	}
	return k, job.Call{
		Config: job.Config{Name: "j", Kind: job.Script, Command: line}, TaskID: "j@-@1", Total: 3, Item: 1, Items: []int{1},
		ItemParam: "it's", HasItemParam: true, Params: map[int]string{1: "it's"},
		RunID: "j/1/5", Attempt: 2, Scheduled: time.UnixMilli(5), Fence: 7,
	}
}

// lines is a log handler that sends each message.
type lines chan string

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) Handle(_ context.Context, r slog.Record) error {
	l <- r.Message
	return nil
}
func (l lines) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l lines) WithGroup(string) slog.Handler      { return l }

const context1 = `{"jobName":"j","taskId":"j@-@1","shardingTotalCount":3,"jobParameter":"","shardingItem":1,"shardingParameter":"it\u0027s",` +
	`"wasmjob":{"runId":"j/1/5","attempt":2,"scheduledTime":5,"fence":7,"items":{"1":"it\u0027s"}}}`

func TestArgumentsAndEnvironment(t *testing.T) {
	t.Parallel()
	k, c := call(t, `/bin/sh -c 'printf "%s|" "$@"; env' sh "a b" ""`)
	c.Config.Allow.Env = map[string]string{"GRANTED": "yes"}
	out := k.Run(t.Context(), c)
	if out.Verdict != job.OK || !strings.HasPrefix(string(out.Result), "a b||"+context1+"|") {
		t.Fatalf("%+v: %s", out, out.Result)
	}
	got := strings.Fields(strings.TrimPrefix(string(out.Result), "a b||"+context1+"|"))
	slices.Sort(got)
	got = slices.DeleteFunc(got, func(s string) bool { // the shell's own variables, and the mark, whose number varies
		return strings.HasPrefix(s, belongVar+"=") || strings.HasPrefix(s, "PWD=") || strings.HasPrefix(s, "_=") || strings.HasPrefix(s, "SHLVL=") || strings.HasPrefix(s, "OLDPWD=")
	})
	want := []string{"GRANTED=yes", "WASMJOB_ATTEMPT=2", "WASMJOB_FENCE=7", "WASMJOB_ITEM=1", "WASMJOB_ITEM_PARAM=it's", "WASMJOB_JOB=j", "WASMJOB_JOB_PARAM=", "WASMJOB_RUN_ID=j/1/5",
		"WASMJOB_SCHEDULED=1970-01-01T00:00:00.005Z", "WASMJOB_TOTAL=3"}
	if !slices.Equal(got, want) {
		t.Errorf("environment %q, want %q", got, want)
	}
}

// The system's own error would only say that the argument list is too long.
func TestContextIsBounded(t *testing.T) {
	t.Parallel()
	k, c := call(t, "/bin/true")
	c.Config.Param = strings.Repeat("x", maxContext-len(c.JSON()))
	if out := k.Run(t.Context(), c); out.Verdict != job.OK {
		t.Errorf("the longest context: %s", out.Error)
	}
	c.Config.Param += "x"
	if out := k.Run(t.Context(), c); out.Verdict != job.Failure || !strings.Contains(out.Error, "the context has 131072 bytes") {
		t.Errorf("a longer one: %s %q", out.Verdict, out.Error)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line    string
		verdict job.Verdict
		code    int32
		result  string
		says    string
	}{
		"result":     {"/bin/echo hello", job.OK, 0, "hello " + context1 + "\n", ""},
		"nothing":    {"/bin/true", job.OK, 0, "", ""},
		"failure":    {"/bin/sh -c 'echo no >&2; echo part; exit 3'", job.Failure, 3, "part\n", "the command ended with exit code 3\nstderr:\nno"},
		"signal":     {"/bin/sh -c 'kill -9 $$'", job.Failure, 0, "", "the command was ended: signal: killed"},
		"no program": {"/nowhere/program", job.Failure, 0, "", "start the command: fork/exec /nowhere/program: no such file or directory"},
		"odd bytes":  {`/bin/sh -c 'printf "a\033[1m\377" >&2; exit 1'`, job.Failure, 1, "", "the command ended with exit code 1\nstderr:\na\ufffd[1m\ufffd"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, c := call(t, tt.line)
			out := k.Run(t.Context(), c)
			if out.Verdict != tt.verdict || out.Code != tt.code || out.HasCode != (out.Verdict == job.OK || tt.code != 0) || string(out.Result) != tt.result || out.Error != tt.says {
				t.Errorf("got %+v, result %q", out, out.Result)
			}
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	k, c := call(t, `/bin/sh -c 'i=0; while [ $i -lt 200 ]; do echo "line $i is too long" >&2; echo 0123456789; i=$((i+1)); done'`)
	log := make(lines, 1000)
	c.Log = slog.New(log)
	c.Config.Limits = job.Limits{Result: 25, LogLine: 10, LogRate: 3}
	out := k.Run(t.Context(), c)
	close(log)
	if out.Verdict != job.OK || string(out.Result) != "0123456789\n0123456789\n012" {
		t.Errorf("%+v, result %q", out, out.Result)
	}
	var all []string
	for l := range log {
		all = append(all, l)
	}
	if len(all) > 100 || all[0] != "line 0 is " || all[len(all)-1] != "the result was cut to limits.result" || all[len(all)-2] != "dropped log lines of the command: it logs faster than limits.log_rate" {
		t.Errorf("log: %q", all)
	}
}

// The replacement of a broken byte is longer than the byte. The attempts of an item share
// its log rate.
func TestLinesAreCutAfterTheyAreMadeVisible(t *testing.T) {
	t.Parallel()
	k, c := call(t, `/bin/sh -c 'i=0; while [ $i -lt 200 ]; do printf "\\033\\377\\033\\377" >&2; i=$((i+1)); done; echo >&2; printf "one\\033 two\\n"; exit 1'`)
	c.Config.Limits = job.Limits{LogLine: 10, LogRate: 1}
	log := make(lines, 1000)
	c.Log = slog.New(log)
	out := k.Run(t.Context(), c)
	if line := <-log; line == "" || len(line) > 10 || len(out.Error) > 100+tailBytes || out.Shown != "one\ufffd two" {
		t.Errorf("line %q, shown %q, %d bytes: %.100q", line, out.Shown, len(out.Error), out.Error)
	}
}

// started runs a command and returns its log lines and its outcome.
func started(t *testing.T, ctx context.Context, line string, change func(*job.Call)) (<-chan string, <-chan job.Outcome) { //nolint:revive // t first
	t.Helper()
	return startedBy(t, ctx, open(t, t.TempDir()), line, change)
}

func startedBy(t *testing.T, ctx context.Context, all *Commands, line string, change func(*job.Call)) (<-chan string, <-chan job.Outcome) { //nolint:revive // t first
	t.Helper()
	k, c := callOf(t, all, line)
	log := make(lines, 100)
	c.Log = slog.New(log)
	if change != nil {
		change(&c)
	}
	done := make(chan job.Outcome, 1)
	go func() { done <- k.Run(ctx, c) }()
	return log, done
}

func TestTheWholeGroupIsEnded(t *testing.T) {
	t.Parallel()
	const deaf = `/bin/sh -c 'trap "" TERM; /bin/sh -c "trap \"\" TERM; echo \$\$ >&2; while :; do sleep 1; done" & while :; do sleep 1; done'`
	tests := map[string]struct {
		verdict job.Verdict
		change  func(*job.Call)
		cancel  bool
	}{
		"cancelled": {job.Stopped, nil, true},
		"late":      {job.Deadline, func(c *job.Call) { c.Config.Timeout, c.Config.Limits.Grace = 50*time.Millisecond, time.Millisecond }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			log, done := started(t, ctx, deaf, tt.change)
			if tt.cancel {
				pid, err := strconv.Atoi(<-log)
				if err != nil {
					t.Error(err)
				}
				defer gone(pid)
				cancel()
			}
			if out := <-done; out.Verdict != tt.verdict {
				t.Errorf("got %+v", out)
			}
		})
	}
}

func TestLeftoversAreEnded(t *testing.T) {
	t.Parallel()
	// The process in the background does not hold the output, so the run does not wait.
	log, done := started(t, t.Context(), `/bin/sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >&2; exit 0'`, nil)
	pid, err := strconv.Atoi(<-log)
	if err != nil {
		t.Fatal(err)
	}
	if out := <-done; out.Verdict != job.OK {
		t.Errorf("got %+v", out)
	}
	gone(pid)
}

// gone returns when the process has ended, even if its parent has not reaped it yet.
func gone(pid int) {
	for syscall.Kill(pid, 0) == nil {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		runtime.Gosched()
	}
}

func TestIsAskedBeforeItIsEnded(t *testing.T) {
	t.Parallel()
	var why atomic.Int32
	log, done := started(t, t.Context(), `/bin/sh -c 'trap "echo bye; exit 4" TERM; echo ready >&2; while :; do sleep 0.01; done'`,
		func(c *job.Call) { c.Why = func() job.StopReason { return job.StopReason(why.Load()) } })
	<-log
	why.Store(int32(job.StopShutdown))
	if out := <-done; out.Verdict != job.Failure || out.Code != 4 || string(out.Result) != "bye\n" {
		t.Errorf("got %+v, result %q", out, out.Result)
	}
}

func TestRunOfAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k, c := call(t, "/bin/echo")
	if out := k.Run(ctx, c); out.Verdict != job.Stopped {
		t.Errorf("got %+v", out)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := open(t, t.TempDir()).New("'"); err == nil {
		t.Error("an open quote was accepted")
	}
}
