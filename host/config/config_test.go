package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wasmjob/wasmjob/host/job"
)

// small is a minimal configuration with a job.
const small = `[modules.m]
source = "m.wasm"
[jobs.j]
module = "m"
cron = "0 0 2 * * ?"
`

func abs(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

func parse(t *testing.T, text string, env ...string) *File {
	t.Helper()
	f, err := Parse("t.toml", []byte(text), Options{Env: env})
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return f
}

// faults returns the lines of the problems of a text.
func faults(t *testing.T, text string, env ...string) []string {
	t.Helper()
	f, err := Parse("t.toml", []byte(text), Options{Env: env})
	return linesOf(t, f, err)
}

func linesOf(t *testing.T, f *File, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var ps Problems
	if !errors.As(err, &ps) {
		t.Fatalf("error is a %T, not Problems: %v", err, err)
	}
	if f != nil {
		t.Error("there are problems and a File")
	}
	for _, p := range ps {
		if p.Why.Code == "" || p.Why.String() == "" {
			t.Errorf("%v: the fault has no code, or no words", p)
		}
	}
	return strings.Split(ps.Error(), "\n")
}

func TestEmptyFileHasEveryDefault(t *testing.T) {
	t.Parallel()
	got := parse(t, "")
	want := &File{
		Server: Server{
			DataDir: abs(t, "data"), DrainTimeout: 30 * time.Second, LogLevel: slog.LevelInfo, LogFormat: "auto",
		},
		Registry: Registry{Kind: "embedded", Namespace: "wasmjobd", Layout: "2.1"},
		History:  History{Path: abs(t, "data/history.db")},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(File{})); d != "" {
		t.Error(d)
	}
}

func TestSmallestJobHasEveryDefault(t *testing.T) {
	t.Parallel()
	got := parse(t, small).Jobs
	want := []job.Config{{
		Name: "j", Kind: job.Simple, Cron: "0 0 2 * * ?", Dialect: "quartz", Shards: 1,
		Module: "m", Strategy: "average", Misfire: true, MonitorExecution: true, Overwrite: true,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, MaxClockSkew: -1,
		ReconcileEvery: 10 * time.Minute, Layout: "2.1",
		Unsaid: []string{
			"shards", "item_params", "param", "description", "strategy", "failover", "misfire", "monitor_execution",
			"disabled", "overwrite", "max_clock_skew", "reconcile_every", "streaming",
		},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWhatAJobOrTheDefaultsSayIsSaid(t *testing.T) {
	t.Parallel()
	got := parse(t, small+"failover = false\nitem_params = { 0 = 'a' }\nkind = 'dataflow'\nstreaming = false\n[defaults]\nmisfire = true\n").Jobs[0].Unsaid
	want := []string{"shards", "param", "description", "strategy", "monitor_execution", "disabled", "overwrite", "max_clock_skew", "reconcile_every"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestEveryKeyReachesItsField(t *testing.T) {
	t.Parallel()
	got := parse(t, `
schema = 1
[server]
ip = "10.0.0.7"
data_dir = "/var/lib/w"
drain_timeout = "1m30s"
monitor_ip = "10.0.0.8"
log = { level = "debug", format = "json" }
labels = { zone = "eu-1", weight = "3" }
[registry]
kind = "embedded"
namespace = "team/prod"
layout = "2.1"
[host]
allow_native_scripts = true
memory = "2GiB"
workers = 12
[host.secrets]
token = "env:TOKEN"
key = "file:keys/key"
[host.allow]
dirs = ["ro:in", "rw:out"]
env = ["TZ"]
clock = "real"
random = true
state = true
secrets = ["token"]
http = ["https://*.example.org", "https://metrics.internal:8443/v1"]
private_hosts = ["metrics.internal"]
[history]
dsn = "sqlite:///var/h.db"
retention = { age = "30d", per_job = 1000, size = "2GiB" }
[modules.m]
source = "file:build/m.wasm"
sha256 = "ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
[jobs.j]
module = "m"
kind = "simple"
cron = "0 2 * * *"
dialect = "unix"
timezone = "Europe/Berlin"
shards = 3
item_params = { 2 = "us", 0 = "eu" }
strategy = "rotate"
param = "full"
description = "it"
class = "com.example.Job"
failover = true
misfire = false
monitor_execution = false
monitor_port = 9888
disabled = true
overwrite = false
catch_up = "none"
overlap = "replace"
on_registry_loss = "finish"
timeout = "30m"
parallel = 2
retry = { attempts = 3, backoff = "5s", max_backoff = "1m", only_asked = true }
reconcile_every = "1h"
max_clock_skew = "5s"
layout = "2.1"
config = { url = "x" }
[jobs.j.allow]
dirs = ["ro:in/sub:/data", "rw:out/j:/out"]
env = { TZ = "UTC" }
clock = "real"
random = true
state = true
secrets = ["token"]
http = ["GET https://api.example.org/x", "https://metrics.internal:8443/v1/push"]
[jobs.j.limits]
memory = "32MiB"
result = "64KiB"
log_line = "1KiB"
log_rate = 10
grace = "500ms"
fuel = 5_000_000_000
http_calls = 7
http_body = "1MiB"
state_value = "4KiB"
open_files = 5
instance = { pool = 4, max_uses = 100 }
[jobs.k]
module = "m"
kind = "dataflow"
schedule = "manual"
streaming = true
fetch_count = 100
concurrency = 4
limits.batch = "2MiB"
limits.instance = "per-run"
strategy_module = "m"
strategy_error = "keep"
catch_up = "last"
except = ["bank", "2026-12-31", "12-25"]
jitter = "30s"
[calendars.bank]
days = ["2026-12-24..2026-12-26", "12-25"]
[jobs.l]
module = "m"
kind = "script"
schedule = "manual"
args = ["-v", ""]
[jobs.n]
kind = "script"
schedule = "manual"
command = "/bin/echo 'a b'"
`)
	manual := job.Config{
		Dialect: "quartz", Shards: 1, Module: "m", Strategy: "average",
		Misfire: true, MonitorExecution: true, Overwrite: true,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, MaxClockSkew: -1, ReconcileEvery: 10 * time.Minute, Layout: "2.1",
	}
	flow, script, command := manual, manual, manual
	flow.Name, flow.Kind, flow.Streaming, flow.FetchCount, flow.Concurrency = "k", job.Dataflow, true, 100, 4
	flow.CatchUp, flow.Except, flow.Jitter = job.CatchUpLast, []string{"12-25", "2026-12-24..2026-12-26", "2026-12-31"}, 30*time.Second
	flow.Limits.Batch, flow.StrategyModule, flow.OnStrategyError = 2<<20, "m", job.KeepOld
	script.Name, script.Kind, script.Args = "l", job.Script, []string{"-v", ""}
	command.Name, command.Kind, command.Command, command.Module = "n", job.Script, "/bin/echo 'a b'", ""
	want := &File{
		Server:   Server{IP: "10.0.0.7", DataDir: "/var/lib/w", DrainTimeout: 90 * time.Second, LogLevel: slog.LevelDebug, LogFormat: "json", Labels: map[string]string{"zone": "eu-1", "weight": "3"}, MonitorIP: "10.0.0.8"},
		Registry: Registry{Kind: "embedded", Namespace: "team/prod", Layout: "2.1"},
		Host: Host{
			Allow: GrantLimits{
				Dirs: []Tree{{Path: abs(t, "in")}, {Path: abs(t, "out"), Write: true}}, Env: []string{"TZ"}, Clock: "real", Random: true,
				State: true, Secrets: []string{"token"},
				HTTP:         []string{"https://*.example.org", "https://metrics.internal:8443/v1"},
				PrivateHosts: []string{"metrics.internal"},
			},
			NativeScripts: true, Memory: 2 << 30, Workers: 12,
			Secrets: []Secret{{Name: "key", File: abs(t, "keys/key")}, {Name: "token", Env: "TOKEN"}},
		},
		History: History{Path: "/var/h.db", Age: 30 * 24 * time.Hour, PerJob: 1000, Size: 2 << 30},
		Modules: []Module{{Name: "m", Path: abs(t, "build/m.wasm"), SHA256: "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"}},
		Jobs: []job.Config{{
			Name: "j", Kind: job.Simple, Cron: "0 2 * * *", Dialect: "unix", TimeZone: "Europe/Berlin",
			Shards: 3, ItemParams: "0=eu,2=us", Param: "full", Description: "it",
			Module: "m", Strategy: "rotate", Class: "com.example.Job",
			Failover: true, Disabled: true, MonitorPort: 9888,
			Overlap: job.Replace, OnRegistryLoss: job.FinishOnLoss,
			MaxClockSkew: 5 * time.Second, ReconcileEvery: time.Hour, Timeout: 30 * time.Minute, Parallel: 2,
			Retry:    job.Retry{Attempts: 3, Backoff: 5 * time.Second, MaxBackoff: time.Minute, OnlyAsked: true},
			Settings: map[string]string{"url": "x"},
			Limits: job.Limits{Memory: 32 << 20, Result: 64 << 10, LogLine: 1 << 10, LogRate: 10, Grace: 500 * time.Millisecond, Fuel: 5_000_000_000,
				HTTPCalls: 7, HTTPBody: 1 << 20, StateValue: 4 << 10, OpenFiles: 5, Pool: job.Pool{Size: 4, MaxUses: 100}},
			Allow: job.Allow{
				Dirs: []job.Dir{{Host: abs(t, "in/sub"), Guest: "/data"}, {Host: abs(t, "out/j"), Guest: "/out", Write: true}},
				Env:  map[string]string{"TZ": "UTC"}, Clock: "real", Random: true, State: true, Secrets: []string{"token"},
				HTTP: []string{"GET https://api.example.org/x", "https://metrics.internal:8443/v1/push"},
			},
			Layout: "2.1",
		}, flow, script, command},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(File{}), cmpopts.IgnoreFields(job.Config{}, "Unsaid")); d != "" {
		t.Error(d)
	}
}

// No key is accepted and then ignored: each appears in the test of all keys.
func TestEveryServedKeyIsTested(t *testing.T) {
	t.Parallel()
	var self []byte
	for _, name := range []string{"admin_test.go", "config_test.go", "faults_test.go", "faults_kinds_test.go", "history_test.go", "load_test.go", "notify_test.go", "registry_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		self = append(self, text...)
	}
	for _, k := range schema() {
		name := k.path[strings.LastIndexByte(k.path, '.')+1:]
		if k.release == "" && !strings.Contains(string(self), name+" = ") {
			t.Errorf("no test sets %s", k.path)
		}
	}
}

func TestDefaultsAreInherited(t *testing.T) {
	t.Parallel()
	f := parse(t, small+`
[jobs.k]
module = "m"
schedule = "manual"
timezone = "Asia/Tokyo"
timeout = "off"
[defaults]
timezone = "Europe/Berlin"
timeout = "10m"
limits = { memory = "1MiB" }
`)
	type row struct {
		Zone    string
		Timeout time.Duration
		Memory  int64
		Cron    string
	}
	var got []row
	for _, j := range f.Jobs {
		got = append(got, row{j.TimeZone, j.Timeout, j.Limits.Memory, j.Cron})
	}
	want := []row{
		{"Europe/Berlin", 10 * time.Minute, 1 << 20, "0 0 2 * * ?"},
		{"Asia/Tokyo", 0, 1 << 20, ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"set", "a${X}b", "a1b"},
		{"set_and_default", "${X:-2}", "1"},
		{"unset_and_default", "${NO:-2}", "2"},
		{"empty_and_default", "${EMPTY:-2}", "2"},
		{"empty", "<${EMPTY}>", "<>"},
		{"dollar", "$$X $${X}", "$X ${X}"},
		{"no_recursion", "${REC}", "${X}"},
		{"twice", "${X}${X}", "11"},
		{"default_with_colon", "${NO:-a:b}", "a:b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, small+"param = '"+tt.text+"'\n", "X=0", "X=1", "EMPTY=", "REC=${X}")
			if got := f.Jobs[0].Param; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEnvironmentOverlay(t *testing.T) {
	t.Parallel()
	f := parse(t, strings.ReplaceAll(small, "jobs.j", "jobs.nightly-x")+`
[host.allow]
dirs = ["ro:a"]
`,
		"WASMJOBD_SERVER__LOG__LEVEL=warn",
		"WASMJOBD_JOBS__NIGHTLY_X__SHARDS=4",
		"WASMJOBD_JOBS__NIGHTLY_X__FAILOVER=true",
		"WASMJOBD_JOBS__NIGHTLY_X__PARAM=${not looked at}",
		"WASMJOBD_DEFAULTS__TIMEOUT=5s",
		"WASMJOBD_HOST__ALLOW__ENV=A, B",
		"WASMJOBD_VECTORS=left alone",
		"OTHER__X=left alone",
	)
	j := f.Jobs[0]
	got := []any{f.Server.LogLevel, j.Shards, j.Failover, j.Param, j.Timeout, f.Host.Allow.Env}
	want := []any{slog.LevelWarn, 4, true, "${not looked at}", 5 * time.Second, []string{"A", "B"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDurationsAndSizes(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"250ms": 250 * time.Millisecond, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute,
		"30d": 720 * time.Hour, "2w": 336 * time.Hour, "0s": 0,
	} {
		if got, why := parseDuration(s); !why.None() || got != want {
			t.Errorf("parseDuration(%q) = %v, %v", s, got, why)
		}
	}
	for _, s := range []string{"", "s", "1", "1.5", "1x", "-1s", "1 s", "1s ", "1..5s", "9999999d", "1µs", "1s2"} {
		if got, why := parseDuration(s); why.None() {
			t.Errorf("parseDuration(%q) = %v, want a fault", s, got)
		}
	}
	for s, want := range map[string]int64{
		"512B": 512, "4KiB": 4096, "64MiB": 64 << 20, "64 MiB": 64 << 20, "1GiB": 1 << 30, "2kB": 2000, "3MB": 3e6, "1GB": 1e9,
	} {
		if got, why := parseSize(s); !why.None() || got != want {
			t.Errorf("parseSize(%q) = %v, %v", s, got, why)
		}
	}
	for _, s := range []string{"", "B", "1", "1.5MiB", "-1B", "1mib", "99999999999999999999B", "9223372036854775807GiB"} {
		if got, why := parseSize(s); why.None() {
			t.Errorf("parseSize(%q) = %v, want a fault", s, got)
		}
	}
}

// A valid file stays valid as years pass.
func TestAScheduleThatIsOverIsNoFault(t *testing.T) {
	t.Parallel()
	const text = "[modules.m]\nsource = 'file:m.wasm'\n[jobs.past]\nmodule = 'm'\ncron = '0 0 2 * * ? 1999'\n[jobs.good]\nmodule = 'm'\ncron = '0 0 2 * * ?'\n"
	f, err := Load([]string{"-"}, Options{Stdin: strings.NewReader(text)})
	if err != nil || len(f.Jobs) != 2 {
		t.Fatalf("%v, %v", f, err)
	}
	for _, j := range f.Jobs {
		s, err := Compile(j)
		if err != nil {
			t.Fatal(err)
		}
		if why := Over(s, time.Now()); (why != "") != (j.Name == "past") {
			t.Errorf("%s: %q", j.Name, why)
		}
	}
}

// The number of private paths, which are checked whenever a directory is opened, does not grow
// with the number of modules, except for links.
func TestModulesOfAFolderArePrivateTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "[modules.m%d]\nsource = 'file:m%d.wasm'\n", i, i)
	}
	if err := os.Symlink("elsewhere/m.wasm", filepath.Join(dir, "m7.wasm")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "t.toml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Load([]string{file}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for _, p := range f.Private() {
		if p.What == "a module" {
			modules = append(modules, filepath.Base(p.Path))
		}
	}
	if !slices.Equal(modules, []string{"m0.wasm", "m7.wasm"}) {
		t.Errorf("%v", modules)
	}
}
