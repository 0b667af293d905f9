package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// MaxModule is the largest text of wasm/module, in bytes.
const MaxModule = 512 << 10

// Code is a module by its digest; the bytes are never in the registry.
type Code struct {
	Name      string `json:"name"`
	Digest    string `json:"digest"`              // sha256, lower-case hex
	Reference string `json:"reference,omitempty"` // where it was taken from, for people to read
}

// Module is the value of wasm/module: what there is to a job beside the
// configuration that ElasticJob keeps. Grants are asked, not given: each server
// decides by its own ceiling whether it may run the job.
type Module struct {
	// Code runs the items; nil: a job that runs no module.
	Code *Code
	// Next is to take the place of Code as soon as every member has it.
	Next *Code
	// Past are the newest that ran before Code, the newest last.
	Past []Code
	// Strategy deals the items out; nil: the strategy that config names.
	Strategy *Code

	settings settingsJSON
	base     branch // what the file said when it was applied last, as digests
}

// moduleJSON is how a Module is written.
type moduleJSON struct {
	V        int    `json:"v"`
	Code     *Code  `json:"module,omitempty"`
	Next     *Code  `json:"next,omitempty"`
	Past     []Code `json:"past,omitempty"`
	Strategy *Code  `json:"strategy_module,omitempty"`
	settingsJSON
	Base branch `json:"base,omitempty"`
}

// settingsJSON are the settings of a job that ElasticJob's config has no key
// for, under the names of jobs.toml. What is zero is left out: each server keeps
// the text of each job.
type settingsJSON struct {
	Kind            job.Kind            `json:"kind,omitzero"`
	Class           string              `json:"class,omitzero"` // that the module stands in for, whatever config names
	TimeZone        string              `json:"timezone,omitzero"`
	Dialect         string              `json:"dialect,omitzero"`
	OnStrategyError job.OnStrategyError `json:"strategy_error,omitzero"`
	CatchUp         job.CatchUp         `json:"catch_up,omitzero"`
	Overlap         job.Overlap         `json:"overlap,omitzero"`
	OnRegistryLoss  job.OnRegistryLoss  `json:"on_registry_loss,omitzero"`
	Timeout         duration            `json:"timeout,omitzero"`
	Retry           retrySettings       `json:"retry,omitzero"`
	Parallel        int                 `json:"parallel,omitzero"`
	FetchCount      int                 `json:"fetch_count,omitzero"`
	Concurrency     int                 `json:"concurrency,omitzero"`
	Args            []string            `json:"args,omitempty"`
	Settings        map[string]string   `json:"config,omitempty"`
	Limits          limitsJSON          `json:"limits,omitzero"`
	Allow           allowJSON           `json:"allow,omitzero"`
}

type retrySettings struct {
	Attempts   int      `json:"attempts,omitzero"`
	Backoff    duration `json:"backoff,omitzero"`
	MaxBackoff duration `json:"max_backoff,omitzero"`
	OnlyAsked  bool     `json:"only_asked,omitzero"`
}

type limitsJSON struct {
	Memory     int64    `json:"memory,omitzero"`
	Fuel       int64    `json:"fuel,omitzero"`
	Result     int64    `json:"result,omitzero"`
	LogLine    int64    `json:"log_line,omitzero"`
	LogRate    int      `json:"log_rate,omitzero"`
	Grace      duration `json:"grace,omitzero"`
	Batch      int64    `json:"batch,omitzero"`
	StateValue int64    `json:"state_value,omitzero"`
	HTTPCalls  int      `json:"http_calls,omitzero"`
	HTTPBody   int64    `json:"http_body,omitzero"`
	OpenFiles  int      `json:"open_files,omitzero"`
	Pool       poolJSON `json:"instance,omitzero"`
}

type poolJSON struct {
	Size    int `json:"pool,omitzero"`
	MaxUses int `json:"max_uses,omitzero"`
}

type allowJSON struct {
	Dirs    []dirJSON         `json:"dirs,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Clock   string            `json:"clock,omitzero"`
	Random  bool              `json:"random,omitzero"`
	State   bool              `json:"state,omitzero"`
	Secrets []string          `json:"secrets,omitempty"` // names, never values
	HTTP    []string          `json:"http,omitempty"`
}

type dirJSON struct {
	Host  string `json:"host"`
	Guest string `json:"guest"`
	Write bool   `json:"write"`
}

// duration is written as "1m30s".
type duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.100q is no duration: write 1m30s", text)
	}
	*d = duration(v)
	return nil
}

// EncodeModule writes what DecodeModule reads. It refuses more than MaxModule
// bytes.
func EncodeModule(m Module) ([]byte, error) {
	text := mustJSON(moduleJSON{V: valueVersion, Code: m.Code, Next: m.Next, Past: m.Past, Strategy: m.Strategy, settingsJSON: m.settings, Base: m.base})
	if len(text) > MaxModule {
		return nil, fmt.Errorf("write the module node: %d bytes are more than %d", len(text), MaxModule)
	}
	return text, nil
}

// DecodeModule reads the value of wasm/module, whoever wrote it. It refuses
// keys that it does not know: one of them may be a bound that it would not keep.
func DecodeModule(data []byte) (Module, error) {
	if len(data) > MaxModule {
		return Module{}, fmt.Errorf("%d bytes are more than %d", len(data), MaxModule)
	}
	var version struct {
		V int `json:"v"`
	}
	if err := decodeJSON(data, &version); err != nil {
		return Module{}, err
	}
	if version.V != valueVersion {
		return Module{}, fmt.Errorf("version %d is not known to this release", version.V)
	}
	var v moduleJSON
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return Module{}, fmt.Errorf("it is not what this release writes: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Module{}, errors.New("something stands behind the object")
	}
	codes := map[string]*Code{"module": v.Code, "next": v.Next, "strategy_module": v.Strategy}
	for i := range v.Past {
		codes[fmt.Sprintf("past[%d]", i)] = &v.Past[i]
	}
	for key, c := range codes {
		if c == nil {
			continue
		}
		if len(c.Digest) != 64 || strings.Trim(c.Digest, "0123456789abcdef") != "" {
			return Module{}, fmt.Errorf("%s: %.100q is no sha256: write 64 lower-case hex digits", key, c.Digest)
		}
	}
	if len(v.Past) > maxPast {
		return Module{}, fmt.Errorf("past: %d modules are more than %d", len(v.Past), maxPast)
	}
	if err := checkBase(v.Base, 0); err != nil {
		return Module{}, fmt.Errorf("base: %w", err)
	}
	return Module{Code: v.Code, Next: v.Next, Past: v.Past, Strategy: v.Strategy, settings: v.settingsJSON, base: v.Base}, nil
}

// Wanted is the module that the job is to run: the next one, if there is one.
func (m *Module) Wanted() *Code {
	if m.Next != nil {
		return m.Next
	}
	return m.Code
}

// settingsOf takes from a job what settingsJSON holds.
func settingsOf(j job.Config) settingsJSON {
	s := settingsJSON{
		Kind: j.Kind, Class: j.Class, TimeZone: j.TimeZone, Dialect: j.Dialect, OnStrategyError: j.OnStrategyError,
		CatchUp: j.CatchUp, Overlap: j.Overlap, OnRegistryLoss: j.OnRegistryLoss, Timeout: duration(j.Timeout), Parallel: j.Parallel,
		FetchCount: j.FetchCount, Concurrency: j.Concurrency, Args: j.Args, Settings: j.Settings,
		Retry: retrySettings{j.Retry.Attempts, duration(j.Retry.Backoff), duration(j.Retry.MaxBackoff), j.Retry.OnlyAsked},
		Limits: limitsJSON{
			Memory: j.Limits.Memory, Fuel: j.Limits.Fuel, Result: j.Limits.Result, LogLine: j.Limits.LogLine,
			LogRate: j.Limits.LogRate, Grace: duration(j.Limits.Grace), Batch: j.Limits.Batch, StateValue: j.Limits.StateValue,
			HTTPCalls: j.Limits.HTTPCalls, HTTPBody: j.Limits.HTTPBody, OpenFiles: j.Limits.OpenFiles, Pool: poolJSON(j.Limits.Pool),
		},
		Allow: allowJSON{
			Env: j.Allow.Env, Clock: j.Allow.Clock, Random: j.Allow.Random, State: j.Allow.State,
			Secrets: j.Allow.Secrets, HTTP: j.Allow.HTTP,
		},
	}
	for _, d := range j.Allow.Dirs {
		s.Allow.Dirs = append(s.Allow.Dirs, dirJSON(d))
	}
	return s
}

// put gives a job what settingsOf took.
func (s settingsJSON) put(j *job.Config) {
	j.Kind, j.Class, j.TimeZone, j.Dialect, j.OnStrategyError = s.Kind, s.Class, s.TimeZone, s.Dialect, s.OnStrategyError
	j.CatchUp, j.Overlap, j.OnRegistryLoss, j.Timeout, j.Parallel = s.CatchUp, s.Overlap, s.OnRegistryLoss, time.Duration(s.Timeout), s.Parallel
	j.FetchCount, j.Concurrency, j.Args, j.Settings = s.FetchCount, s.Concurrency, s.Args, s.Settings
	j.Retry = job.Retry{Attempts: s.Retry.Attempts, Backoff: time.Duration(s.Retry.Backoff), MaxBackoff: time.Duration(s.Retry.MaxBackoff), OnlyAsked: s.Retry.OnlyAsked}
	j.Limits = job.Limits{
		Memory: s.Limits.Memory, Fuel: s.Limits.Fuel, Result: s.Limits.Result, LogLine: s.Limits.LogLine,
		LogRate: s.Limits.LogRate, Grace: time.Duration(s.Limits.Grace), Batch: s.Limits.Batch, StateValue: s.Limits.StateValue,
		HTTPCalls: s.Limits.HTTPCalls, HTTPBody: s.Limits.HTTPBody, OpenFiles: s.Limits.OpenFiles, Pool: job.Pool(s.Limits.Pool),
	}
	j.Allow = job.Allow{
		Env: s.Allow.Env, Clock: s.Allow.Clock, Random: s.Allow.Random, State: s.Allow.State,
		Secrets: s.Allow.Secrets, HTTP: s.Allow.HTTP,
	}
	for _, d := range s.Allow.Dirs {
		j.Allow.Dirs = append(j.Allow.Dirs, job.Dir(d))
	}
}
