package definition_test

import (
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/job"
)

// Members of every release compare the text and digests of its leaves, so names, order
// and spelling must stay.
func TestModuleText(t *testing.T) {
	t.Parallel()
	j := job.Config{
		Name: "j", Kind: job.Dataflow, Cron: "0 0 2 * * ?", Shards: 3, Module: "m", ModuleDigest: digestA, StrategyModule: "s", StrategyDigest: digestB,
		Class: "com.example.<Job>", TimeZone: "Europe/Berlin", Dialect: "unix", OnStrategyError: job.KeepOld, CatchUp: job.CatchUpLast,
		Overlap: job.Skip, OnRegistryLoss: job.FinishOnLoss, Timeout: 90 * time.Second, Parallel: 2, FetchCount: 5, Concurrency: 6,
		Retry: job.Retry{Attempts: 3, Backoff: time.Second, MaxBackoff: time.Minute, OnlyAsked: true},
		Args:  []string{"a", ""}, Settings: map[string]string{"b": "&", "a": ""},
		Limits: job.Limits{
			Memory: 1, Fuel: 2, Result: 3, LogLine: 4, LogRate: 5, Grace: 1500 * time.Millisecond, Batch: 6, StateValue: 7,
			HTTPCalls: 8, HTTPBody: 9, OpenFiles: 10, Pool: job.Pool{Size: 11, MaxUses: 12},
		},
		Allow: job.Allow{
			Dirs: []job.Dir{{Host: "/h", Guest: "/g", Write: true}, {Host: "/r", Guest: "/s"}}, Env: map[string]string{"TZ": "UTC"},
			Clock: "real", Random: true, State: true, Secrets: []string{"t"}, HTTP: []string{"https://a/"},
		},
	}
	const want = `{"v":1,"module":{"name":"m","digest":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"strategy_module":{"name":"s","digest":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"kind":"dataflow","class":"com.example.\u003cJob\u003e","timezone":"Europe/Berlin","dialect":"unix","strategy_error":"keep","catch_up":"last","overlap":"skip","on_registry_loss":"finish","timeout":"1m30s","retry":{"attempts":3,"backoff":"1s","max_backoff":"1m0s","only_asked":true},"parallel":2,"fetch_count":5,"concurrency":6,"args":["a",""],"config":{"a":"","b":"\u0026"},"limits":{"memory":1,"fuel":2,"result":3,"log_line":4,"log_rate":5,"grace":"1.5s","batch":6,"state_value":7,"http_calls":8,"http_body":9,"open_files":10,"instance":{"pool":11,"max_uses":12}},"allow":{"dirs":[{"host":"/h","guest":"/g","write":true},{"host":"/r","guest":"/s","write":false}],"env":{"TZ":"UTC"},"clock":"real","random":true,"state":true,"secrets":["t"],"http":["https://a/"]},"base":{"cron":"bb","limits":{"fuel":"aa"}}}`
	m := define(j).Module
	m.SetBase(map[string]any{"limits": map[string]any{"fuel": "aa"}, "cron": "bb"})
	got, err := definition.EncodeModule(m)
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	const least = `{"v":1,"limits":{"fuel":1}}`
	if got, err = definition.EncodeModule(define(job.Config{Limits: job.Limits{Fuel: 1}, Args: []string{}}).Module); err != nil || string(got) != least {
		t.Errorf("got %s, %v", got, err)
	}
}
