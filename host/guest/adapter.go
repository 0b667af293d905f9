package guest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/abi/conformance"
	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// Adapter runs the cases of the conformance kit, and of job authors, in this host's sandbox.
// Its methods must not be called concurrently.
type Adapter struct {
	engine   *sandbox.Engine
	free     func()            // call after closing engine
	compiled []*sandbox.Module // oldest first
}

// maxCompiled is the number of modules that stay compiled: cases alternate between an SDK's
// guest and its script.
const maxCompiled = 4

// NewAdapter creates an Adapter, which the caller closes.
func NewAdapter() (*Adapter, error) {
	e, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return nil, &host.Error{Code: host.Internal, Msg: "sandbox", Err: err}
	}
	return &Adapter{engine: e, free: func() {}}, nil
}

// Adapter creates an Adapter for the cases of one module, which the caller closes.
func (o Options) Adapter(wasm []byte) (*Adapter, error) {
	e, free, err := o.engine(wasm)
	if err != nil {
		return nil, &host.Error{Code: host.Internal, Msg: "sandbox", Err: err}
	}
	return &Adapter{engine: e, free: free}, nil
}

// Close releases the compiled modules.
func (a *Adapter) Close() error {
	for _, m := range a.compiled {
		m.Close()
	}
	defer a.free()
	return a.engine.Close()
}

// load returns the compiled module, and compiles it unless a recent request left it compiled.
func (a *Adapter) load(ctx context.Context, wasm []byte) (*sandbox.Module, error) {
	sum := sha256.Sum256(wasm)
	digest := hex.EncodeToString(sum[:])
	for _, m := range a.compiled {
		if m.Digest() == digest {
			return m, nil
		}
	}
	m, err := a.engine.Load(ctx, wasm)
	if err != nil {
		return nil, err
	}
	if len(a.compiled) == maxCompiled {
		a.compiled[0].Close()
		a.compiled = slices.Delete(a.compiled, 0, 1)
	}
	a.compiled = append(a.compiled, m)
	return m, nil
}

// Do implements conformance.Host. When ctx ends, the guest is first asked to stop, and is ended
// once its grace period is over.
func (a *Adapter) Do(ctx context.Context, r conformance.Request) (conformance.Answer, error) {
	if err := ctx.Err(); err != nil {
		return conformance.Answer{}, err
	}
	m, err := a.load(ctx, r.Module)
	if refusal, ok := errors.AsType[*sandbox.Refusal](err); ok {
		return conformance.Answer{Refused: refusal.Error()}, nil
	}
	if err != nil {
		return conformance.Answer{}, err
	}
	a.engine.ResetLogLimits() // each request has its own limit
	said := &lines{}
	switch r.Kind {
	case "": // the case only asks whether the module is refused
		return conformance.Answer{}, nil
	case "strategy":
		owners, err := a.engine.Shard(ctx, m, shardCallOf(r, slog.New(said)))
		answer := conformance.Answer{Verdict: string(job.OK), Owners: owners, Logs: said.all}
		if err != nil {
			answer.Verdict, answer.Reason = string(job.Failure), err.Error()
		}
		return answer, nil
	}
	c := callOf(r, slog.New(said))
	state := &values{now: map[string][]byte{}}
	for k, v := range r.Allow.Values {
		state.now[k] = []byte(v)
	}
	network := &exchanges{all: r.Allow.HTTP}
	c.State, c.HTTP = state, network
	hard, done := stoppable(ctx, &c)
	defer done()
	out := a.engine.Run(hard, m, c)
	return conformance.Answer{
		Verdict: string(out.Verdict), Code: out.Code, Result: out.Result, Reason: out.Error, Logs: said.all,
		Values: state.texts(), Metrics: out.Metrics, Flow: conformance.Flow(out.Flow), Fuel: out.Fuel, Requests: network.sent,
	}, nil
}

// callOf converts a request of the conformance kit to a call of a job. The job grants what the
// case has values or answers for.
func callOf(r conformance.Request, log *slog.Logger) job.Call {
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	c := job.Call{
		Config: job.Config{
			Name: r.Job.Name, Kind: job.Kind(r.Kind), Param: r.Job.Param, Settings: r.Job.Config, Args: r.Job.Args,
			Streaming: r.Job.Streaming, FetchCount: r.Job.FetchCount, Concurrency: r.Job.Concurrency,
			Timeout: millis(r.Limits.Timeout),
			Limits:  job.Limits{Memory: r.Limits.Memory, Grace: millis(r.Limits.Grace), Fuel: r.Limits.Fuel},
			Allow: job.Allow{
				Env: r.Allow.Env, Random: r.Allow.Random, State: r.Allow.State,
				Secrets: slices.Sorted(maps.Keys(r.Allow.Secrets)),
			},
		},
		Instance: job.InstanceID(r.Run.Instance), TaskID: r.Run.TaskID, Total: r.Run.Total, Item: r.Run.Item,
		Items: r.Run.Items, Params: r.Run.Params, RunID: r.Run.RunID, Attempt: r.Run.Attempt,
		Scheduled: time.UnixMilli(r.Run.Scheduled), Fence: r.Run.Fence, Failover: r.Run.Failover, Misfire: r.Run.Misfire,
		Log: log, Namespace: r.Job.Namespace, Event: job.Event(r.Event), Secrets: r.Allow.Secrets,
	}
	c.Results = (*job.FireResults)(r.Fire)
	if r.Run.ItemParam != nil {
		c.ItemParam, c.HasItemParam = *r.Run.ItemParam, true
	}
	if at := r.Allow.Clock; at != nil {
		c.Config.Allow.Clock = "real"
		c.Now = func() time.Time { return time.UnixMilli(*at) }
	}
	for _, d := range r.Allow.Dirs {
		c.Config.Allow.Dirs = append(c.Config.Allow.Dirs, job.Dir(d))
	}
	for _, x := range r.Allow.HTTP {
		c.Config.Allow.HTTP = append(c.Config.Allow.HTTP, x.Method+" "+x.URL)
	}
	return c
}

// shardCallOf converts a request of the conformance kit to a call of a strategy. Without
// previous owners, no item has one (-1).
func shardCallOf(r conformance.Request, log *slog.Logger) job.ShardCall {
	c := job.ShardCall{
		Config:    job.Config{Name: r.Job.Name, Param: r.Job.Param, Settings: r.Job.Config, Shards: r.Run.Total},
		Namespace: r.Job.Namespace, Total: r.Run.Total, Previous: r.Deal.Previous, Log: log,
	}
	for _, i := range r.Deal.Instances {
		c.Instances = append(c.Instances, job.ShardInstance{ID: job.InstanceID(i.ID), Labels: i.Labels})
	}
	if c.Previous == nil {
		c.Previous = slices.Repeat([]int{-1}, c.Total)
	}
	return c
}

// exchanges answers HTTP requests with the exchanges that a case lists, and refuses all others.
type exchanges struct {
	all []conformance.Exchange

	mu   sync.Mutex // guards sent: parallel parts of a batch send concurrently
	sent []string
}

// Do implements job.HTTP.
func (e *exchanges) Do(_ context.Context, r job.HTTPRequest) (*job.HTTPResponse, error) {
	e.mu.Lock()
	e.sent = append(e.sent, r.Method+" "+r.URL)
	e.mu.Unlock()
	i := slices.IndexFunc(e.all, func(x conformance.Exchange) bool { return x.Method == r.Method && x.URL == r.URL })
	if i < 0 {
		return nil, job.ErrDenied
	}
	x := e.all[i]
	if x.Fails {
		return nil, errors.New("the network is broken")
	}
	for name, value := range x.Headers {
		if !slices.ContainsFunc(r.Header, func(f job.HTTPField) bool { return strings.EqualFold(f.Name, name) && f.Value == value }) {
			return nil, fmt.Errorf("the request has no header %s: %s", name, value)
		}
	}
	if x.Body != "" && string(r.Body) != x.Body {
		return nil, fmt.Errorf("the body of the request is %.200q, wanted %.200q", r.Body, x.Body)
	}
	answer := &job.HTTPResponse{Status: x.Status, Body: io.NopCloser(strings.NewReader(x.Content)), Calls: 1}
	for name, value := range x.Answer {
		answer.Header = append(answer.Header, job.HTTPField{Name: name, Value: value})
	}
	return answer, nil
}

// values holds the state of an item in memory.
type values struct {
	mu  sync.Mutex
	now map[string][]byte
}

// Load implements job.State.
func (v *values) Load(context.Context) (map[string][]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.now), nil
}

// Save implements job.State.
func (v *values) Save(_ context.Context, all map[string][]byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = maps.Clone(all)
	return nil
}

// texts returns the values as texts, after the run.
func (v *values) texts() map[string]string {
	all := map[string]string{}
	for k, b := range v.now {
		all[k] = string(b)
	}
	return all
}

// lines collects the log lines of a guest, and those that the host logs about it, without the
// attributes common to all lines.
type lines struct {
	most int // limit for all, further lines are dropped; 0: no limit

	mu  sync.Mutex
	all []conformance.Line
}

// kept returns the lines so far.
func (l *lines) kept() []conformance.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// Enabled implements slog.Handler.
func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	name := "trace"
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if r.Level >= level {
			name = strings.ToLower(level.String())
		}
	}
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.most == 0 || len(l.all) < l.most {
		l.all = append(l.all, conformance.Line{Level: name, Text: text})
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(string) slog.Handler { return l }
