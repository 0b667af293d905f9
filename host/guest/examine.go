package guest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// Limits of a trial. A module that needs more can still be run by exec, or as a job.
const (
	trialTimeout = 5 * time.Second
	trialGrace   = 500 * time.Millisecond
	trialMemory  = 64 << 20
	trialLines   = 20
	trialText    = 500 // characters of a line, a result or an error
)

// Checked is a report on a module, and says whether this host would run the module.
type Checked struct {
	Report
	Runs    bool   `json:"runs"`
	Refused string `json:"refused,omitempty"` // one word, for scripts
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// Examination describes a module, and the outcome of compiling it and running it once.
type Examination struct {
	Checked
	CompileMS int64  `json:"compile_ms"`
	Trial     *Trial `json:"trial,omitempty"` // nil if it did not run
}

// Trial is one run of a module with a made-up context and no grants: item 0 of 1 or, for a
// strategy, seven items on three instances. A trial that fails does not mean that the module is
// wrong.
type Trial struct {
	Kind    string      `json:"kind"`
	Verdict job.Verdict `json:"verdict"`
	Code    int32       `json:"code"`
	Result  string      `json:"result,omitempty"` // its beginning
	Error   string      `json:"error,omitempty"`
	TookMS  int64       `json:"took_ms"`
	Fuel    int64       `json:"fuel"`
	Memory  int64       `json:"memory_peak"`
	Log     []string    `json:"log"` // its first lines
}

// Check inspects a module and reports a refusal in the result instead of as an error.
func Check(wasm []byte) (Checked, error) {
	r, err := Inspect(wasm)
	return checked(r, err)
}

// checked makes a refusal a part of the result. Any other error stays one.
func checked(r Report, err error) (Checked, error) {
	refusal, refused := errors.AsType[*Refusal](err)
	if err != nil && !refused {
		return Checked{}, err
	}
	c := Checked{Report: r, Runs: err == nil}
	if refused {
		c.Refused, c.Problem, c.Hint = refusal.Reason, refusal.Problem, refusal.Hint
	}
	return c, nil
}

// Examine inspects and compiles a module, and runs it once unless this host would refuse it.
// Use an Examiner for modules that must not be able to harm this process.
func Examine(ctx context.Context, wasm []byte) (x Examination, err error) {
	if x.Checked, err = Check(wasm); err != nil || !x.Runs {
		return x, err
	}
	e, err := sandbox.New(sandbox.Options{Budget: 2 * trialMemory})
	if err != nil {
		return x, &host.Error{Code: host.Internal, Msg: "sandbox", Err: err}
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	began := time.Now()
	m, err := e.Load(ctx, wasm)
	x.CompileMS = time.Since(began).Milliseconds()
	if err != nil {
		x.Checked, err = checked(x.Report, exported(err))
		return x, err
	}
	defer m.Close()
	x.Trial = try(ctx, e, m, x.Kinds)
	return x, nil
}

// try runs a module once, as the first of kinds.
func try(ctx context.Context, e *sandbox.Engine, m *sandbox.Module, kinds []string) *Trial {
	if len(kinds) == 0 {
		return nil
	}
	const name = "trial"
	log, t := &lines{most: trialLines}, &Trial{Kind: kinds[0], Verdict: job.OK, Log: []string{}}
	// The guest of a job has a shorter limit of its own, that of a strategy a longer one.
	limited, cancel := context.WithTimeout(ctx, trialTimeout+2*trialGrace)
	defer cancel()
	began := time.Now()
	if t.Kind == "strategy" { // seven items, which had no owner, on three instances
		c := job.ShardCall{Config: job.Config{Name: name, Shards: 7}, Total: 7, Previous: slices.Repeat([]int{-1}, 7), Log: slog.New(log)}
		for _, id := range []job.InstanceID{"10.0.0.3@-@1", "10.0.0.2@-@1", "10.0.0.1@-@1"} {
			c.Instances = append(c.Instances, job.ShardInstance{ID: id, Labels: map[string]string{}})
		}
		if _, err := e.Shard(limited, m, c); err != nil {
			t.Verdict, t.Error = job.Failure, legible(err.Error())
		}
	} else {
		out := e.Run(limited, m, job.Call{
			Config: job.Config{
				Name: name, Kind: job.Kind(t.Kind), Shards: 1, Timeout: trialTimeout, Limits: job.Limits{Memory: trialMemory, Grace: trialGrace},
			},
			Instance: job.NewInstanceID("127.0.0.1", name), TaskID: name + "@-@0@-@READY@-@127.0.0.1@-@" + name, Total: 1, Items: []int{0}, Attempt: 1,
			RunID: fmt.Sprintf("%s/0/%d", name, began.UnixMilli()), Scheduled: began.Truncate(time.Second), Log: slog.New(log),
		})
		t.Verdict, t.Code, t.Result, t.Error = out.Verdict, out.Code, legible(out.Shown), legible(out.Error)
		t.Fuel, t.Memory = out.Fuel, out.PeakBytes
	}
	t.TookMS = time.Since(began).Milliseconds()
	for _, l := range log.kept() {
		t.Log = append(t.Log, legible(l.Level+" "+l.Text))
	}
	return t
}

// legible returns the beginning of a guest's text, with characters that control a terminal
// replaced.
func legible(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if cut := []rune(s); len(cut) > trialText {
		return string(cut[:trialText-1]) + "…"
	}
	return s
}
