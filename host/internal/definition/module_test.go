package definition_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	digestA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// plainJob returns a job without special settings.
func plainJob() job.Config {
	return job.Config{
		Name: "j", Kind: job.Simple, Cron: "0 0 2 * * ?", Shards: 3, Module: "m", ModuleDigest: digestA, Layout: job.Layout21,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, MaxClockSkew: -1, Misfire: true, MonitorExecution: true,
	}
}

// fill sets every field of a job to something that differs from plainJob's. A
// field of a type that it does not know fails the test.
func fill(t *testing.T, path string, v reflect.Value, visit func(path string, set func(*job.Config))) {
	t.Helper()
	index := strings.Split(path, ".")
	at := func(c *job.Config) reflect.Value {
		f := reflect.ValueOf(c).Elem()
		for _, name := range index {
			f = f.FieldByName(name)
		}
		return f
	}
	put := func(x any) {
		visit(path, func(c *job.Config) { at(c).Set(reflect.ValueOf(x).Convert(at(c).Type())) })
	}
	special := map[string]any{
		"Name": "other", "Kind": "dataflow", "Cron": "0 0 3 * * ?", "ItemParams": "0=a", "Layout": job.Layout21, "Class": "com.example.Job",
		"Strategy": "com.example.Strategy", "Command": "/bin/true", "Streaming": true, "ModuleDigest": digestB, "StrategyDigest": digestB,
	}
	switch x, ok := special[path]; {
	case ok:
		put(x)
	case v.Type() == reflect.TypeFor[time.Duration]():
		put(3 * time.Minute)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(t, path+"."+v.Type().Field(i).Name, v.Field(i), visit)
		}
	case v.Kind() == reflect.String:
		put("text")
	case v.Kind() == reflect.Int, v.Kind() == reflect.Int64:
		put(7)
	case v.Kind() == reflect.Bool:
		base := plainJob()
		put(!at(&base).Bool())
	case v.Type() == reflect.TypeFor[[]string]():
		put([]string{"a", "b"})
	case v.Type() == reflect.TypeFor[map[string]string]():
		put(map[string]string{"a.b": "c"})
	case v.Type() == reflect.TypeFor[[]job.Dir]():
		put([]job.Dir{{Host: "/h", Guest: "/g", Write: true}})
	default:
		t.Fatalf("what to set %s to is not known here", path)
	}
}

// A setting that neither node holds would be lost on every server without a file. The
// settings that belong in neither are named here.
func TestEverySettingIsInTheRegistry(t *testing.T) {
	t.Parallel()
	nowhere := map[string]string{
		"Command": "a command comes from the server's own file",
		"Layout":  "the tree shows it",
		"Unsaid":  "what the registry holds, somebody has said",
	}
	config := reflect.ValueOf(job.Config{})
	for i := range config.NumField() {
		fill(t, config.Type().Field(i).Name, config.Field(i), func(path string, set func(*job.Config)) {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				want := plainJob()
				switch path {
				case "StrategyModule":
					want.StrategyDigest = digestA
				case "StrategyDigest":
					want.StrategyModule = "s"
				case "Streaming":
					want.Kind = job.Dataflow
				case "Command":
					want.Kind = job.Script
				}
				set(&want)
				got := overTheRegistry(t, want)
				if nowhere[path] != "" {
					before := plainJob()
					before.Kind = want.Kind
					want = before
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("lost on the way through the registry (-written +read):\n%s", d)
				}
			})
		})
	}
}

// overTheRegistry returns a job as a server without a file reads it.
func overTheRegistry(t *testing.T, j job.Config) job.Config {
	t.Helper()
	d := define(j)
	spelled, err := spelling.Spell(protocol.Definition{}, d)
	if err != nil {
		t.Fatal(err)
	}
	c, err := v21.DecodeConfig([]byte(spelled.Config.String()))
	if err != nil {
		t.Fatal(err)
	}
	m, err := definition.DecodeModule([]byte(spelled.Module.String()))
	if err != nil {
		t.Fatal(err)
	}
	read := definition.Definition{Config: *c, Module: m}
	return read.Job(job.Config{})
}

func TestModuleIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "empty"},
		{"newer", `{"v":2,"whatever":1}`, "version 2"},
		{"no_version", `{}`, "version 0"},
		{"unknown_key", `{"v":1,"limit":{}}`, `"limit"`},
		{"unknown_limit", `{"v":1,"limits":{"memmory":1}}`, `"limits.memmory"`},
		{"name_with_table", `{"v":1,"retry.attempts":2}`, `"retry.attempts"`},
		{"wrong_type", `{"v":1,"parallel":"many"}`, "parallel"},
		{"digest", `{"v":1,"module":{"name":"m","digest":"../../x"}}`, "module:"},
		{"next", `{"v":1,"next":{"name":"m","digest":"AA"}}`, "next:"},
		{"past", `{"v":1,"past":[{"name":"m","digest":"AA"}]}`, "past[0]:"},
		{"long_past", `{"v":1,"past":[` + strings.Repeat(`{"name":"m","digest":"`+digestA+`"},`, definition.MaxPast) + `{"name":"m","digest":"` + digestA + `"}]}`, "more than 8"},
		{"duration", `{"v":1,"timeout":"soon"}`, "soon"},
		{"behind", `{"v":1}{}`, "it is not what"},
		{"yaml", "v: 1\n", "not what this release writes"},
		{"base", `{"v":1,"base":{"a":1}}`, "base:"},
		{"deep_base", `{"v":1,"base":` + strings.Repeat(`{"a":`, 9) + `""` + strings.Repeat("}", 9) + `}`, "base:"},
		{"giant", `{"v":1,"kind":"` + strings.Repeat("x", definition.MaxModule) + `"}`, "more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := definition.DecodeModule([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	huge := plainJob()
	huge.Settings = map[string]string{"a": strings.Repeat("x", definition.MaxModule)}
	if _, err := definition.EncodeModule(define(huge).Module); err == nil {
		t.Error("a giant was written")
	}
}

func FuzzDecodeModule(f *testing.F) {
	text, err := definition.EncodeModule(define(plainJob()).Module)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"v":1,"base":{"config":{"a":"b"}},"args":[],"config":{"a":""},"timeout":"1h"}`))
	f.Add([]byte(`{"v":1,"next":{"name":"m","digest":"` + digestB + `"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := definition.DecodeModule(data)
		if err != nil {
			return
		}
		text, err := definition.EncodeModule(m)
		if err != nil {
			return // it exceeds the limit
		}
		again, err := definition.DecodeModule(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if second, err := definition.EncodeModule(again); err != nil || string(second) != string(text) {
			t.Fatalf("%s\n%s\n%v", text, second, err)
		}
		_, _ = definition.Merge(define(plainJob()), nil, &m)
	})
}

func TestSecretsAreNames(t *testing.T) {
	t.Parallel()
	j := plainJob()
	j.Allow.Secrets = []string{"token"}
	text, err := definition.EncodeModule(define(j).Module)
	if err != nil || !strings.Contains(string(text), `"secrets":["token"]`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	one := define(plainJob())
	two := define(plainJob())
	two.Module.SetBase(map[string]any{"a": "b"})
	if !one.Module.Same(&two.Module) {
		t.Error("what was applied before makes a difference")
	}
	two.Module.Next = &definition.Code{Name: "m", Digest: digestB}
	if one.Module.Same(&two.Module) {
		t.Error("the next module makes no difference")
	}
}
