package v21

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// settings21 are the fields of a recorded configuration; null and missing are
// both nil.
type settings21 struct {
	JobName                  *string  `json:"jobName"`
	JobClass                 *string  `json:"jobClass"`
	JobType                  *JobType `json:"jobType"`
	Cron                     *string  `json:"cron"`
	ShardingTotalCount       *int32   `json:"shardingTotalCount"`
	ShardingItemParameters   *string  `json:"shardingItemParameters"`
	JobParameter             *string  `json:"jobParameter"`
	Failover                 *bool    `json:"failover"`
	Misfire                  *bool    `json:"misfire"`
	Description              *string  `json:"description"`
	JobExceptionHandler      *string  `json:"jobExceptionHandler"`
	ExecutorServiceHandler   *string  `json:"executorServiceHandler"`
	StreamingProcess         *bool    `json:"streamingProcess"`
	ScriptCommandLine        *string  `json:"scriptCommandLine"`
	MonitorExecution         *bool    `json:"monitorExecution"`
	MaxTimeDiffSeconds       *int32   `json:"maxTimeDiffSeconds"`
	MonitorPort              *int32   `json:"monitorPort"`
	JobShardingStrategyClass *string  `json:"jobShardingStrategyClass"`
	ReconcileIntervalMinutes *int32   `json:"reconcileIntervalMinutes"`
	Disabled                 *bool    `json:"disabled"`
	Overwrite                *bool    `json:"overwrite"`
}

// put sets the fields of c that are not nil, and returns how many there are.
func (s settings21) put(c *Config) int {
	n := 0
	from, to := reflect.ValueOf(s), reflect.ValueOf(c).Elem()
	for i := range from.NumField() {
		f := from.Field(i)
		if f.IsNil() {
			continue
		}
		n++
		name := from.Type().Field(i).Name
		target := to.FieldByName(name)
		if !target.IsValid() {
			target = to.FieldByName("JobProperties").FieldByName(name)
		}
		target.Set(f.Elem())
	}
	return n
}

type vector21 struct {
	ID     string     `json:"id"`
	Cat    string     `json:"cat"`
	Op     string     `json:"op"`
	S      string     `json:"s"`
	Config settings21 `json:"config"`
	Want   struct {
		JSON    *string         `json:"json"`
		Config  json.RawMessage `json:"config"`
		ReJSON  string          `json:"rejson"`
		Error   string          `json:"error"`
		Message string          `json:"message"`
	} `json:"want"`
}

func strict21(t *testing.T, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%.80s: %v", data, err)
	}
}

func TestVectorsConfig(t *testing.T) {
	t.Parallel()
	for _, v := range recorded.Vectors[vector21](t, "config/lite2.jsonl") {
		switch v.Op {
		case "tojson":
			encodeVector21(t, v)
		case "fromjson":
			decodeVector21(t, v)
		default:
			t.Errorf("%s: unknown op %q", v.ID, v.Op)
		}
	}
}

func encodeVector21(t *testing.T, v vector21) {
	t.Helper()
	c := Default()
	v.Config.put(&c)
	got, err := EncodeConfig(c)
	if v.Want.Error != "" || err != nil {
		if v.Want.Error != "IllegalArgumentException" || err == nil {
			t.Errorf("%s: got %s, %v, want %+v", v.ID, got, err, v.Want)
		}
		sameFault21(t, v, err)
		return
	}
	if v.Want.JSON == nil || string(got) != *v.Want.JSON {
		t.Errorf("%s: got\n%s, want\n%s", v.ID, got, *v.Want.JSON)
	}
	back, err := DecodeConfig(got)
	if err != nil || back == nil {
		t.Fatalf("%s: reading back: %v", v.ID, err)
	}
	if again, err := EncodeConfig(*back); err != nil || !bytes.Equal(again, got) {
		t.Errorf("%s: written again: %s, %v", v.ID, again, err)
	}
}

func decodeVector21(t *testing.T, v vector21) {
	t.Helper()
	got, err := DecodeConfig([]byte(v.S))
	if v.Want.Error != "" || err != nil {
		if v.Want.Error == "" || err == nil {
			t.Errorf("%s: got %+v, %v, want %+v", v.ID, got, err, v.Want)
		}
		sameFault21(t, v, err)
		return
	}
	if string(v.Want.Config) == "null" {
		if got != nil {
			t.Errorf("%s: got %+v, want none", v.ID, got)
		}
		return
	}
	var s settings21
	strict21(t, v.Want.Config, &s)
	var want Config
	fields := map[JobType]int{Simple: 19, Dataflow: 20, Script: 20}
	if n := s.put(&want); n != fields[want.JobType] {
		t.Errorf("%s: %d fields are recorded of a %s", v.ID, n, want.JobType)
	}
	if got == nil || *got != want {
		t.Errorf("%s: got\n%+v, want\n%+v", v.ID, got, want)
		return
	}
	if again, err := EncodeConfig(*got); err != nil || string(again) != v.Want.ReJSON {
		t.Errorf("%s: written again:\n%s, %v, want\n%s", v.ID, again, err, v.Want.ReJSON)
	}
	if same, err := UpdateConfig([]byte(v.S), got); err != nil || string(same) != v.S {
		t.Errorf("%s: updated with itself: %s, %v", v.ID, same, err)
	}
}

// sameFault21 checks that our error names the key that Java's does.
func sameFault21(t *testing.T, v vector21, err error) {
	t.Helper()
	known := map[string]bool{"IllegalArgumentException": true, "JsonSyntaxException": true, "NumberFormatException": true}
	if !known[v.Want.Error] {
		t.Errorf("%s: the recorded fault is new: %+v", v.ID, v.Want)
	}
	key := strings.Fields(v.Want.Message)[0]
	if i := strings.LastIndex(v.Want.Message, " path $."); i >= 0 {
		key = v.Want.Message[i+len(" path $."):]
	}
	for _, m := range (&Config{}).every().Members {
		if m.Key == key && err != nil && !strings.Contains(err.Error(), key) {
			t.Errorf("%s: got %v, want a word on %s", v.ID, err, key)
		}
	}
}

const base21 = `"jobName":"j","jobClass":"a.B","jobType":"SIMPLE","cron":"c","shardingTotalCount":2`

// Answers of the library of Java members, version 2.6.1, in addition to the vectors.
func TestReadConfig(t *testing.T) {
	t.Parallel()
	port := func(n int32) func(*Config) { return func(c *Config) { c.MonitorPort = n } }
	param := func(s string) func(*Config) { return func(c *Config) { c.JobParameter = s } }
	same := func(*Config) {}
	good := map[string]func(*Config){
		`{~,"monitorPort":"007"}`:                            port(7),
		`{~,"monitorPort":"+7"}`:                             port(7),
		`{~,"monitorPort":7.0}`:                              port(7),
		`{~,"monitorPort":1e2}`:                              port(100),
		`{~,"monitorPort":"7d"}`:                             port(7),
		`{~,"monitorPort":" 7 "}`:                            port(7),
		`{~,"monitorPort":"0x1p3"}`:                          port(8),
		`{~,"monitorPort":2147483647.0}`:                     port(2147483647),
		`{~,"monitorPort":"٣"}`:                              port(3),
		`{~,"jobParameter":-0}`:                              param("0"),
		`{~,"jobParameter":007}`:                             param("007"),
		`{~,"jobParameter":1.50}`:                            param("1.50"),
		`{~,"jobParameter":a-b.c}`:                           param("a-b.c"),
		`{~,"jobParameter":falſe}`:                           param("falſe"),
		`{~,"jobParameter":'x\'"y'}`:                         param(`x'"y`),
		`{~,"jobParameter":"a\q\/\n\u0041"}`:                 param("aq/\nA"),
		"{~,\"jobParameter\":\"a\nb\x01\"}":                  param("a\nb\x01"),
		`{~,"jobParameter":"\ud83d\ude00"}`:                  param("😀"),
		`{~,"jobParameter":"\ud83dx\ude00"}`:                 param("\ufffdx\ufffd"),
		`{~,"jobPar\u0061meter":"x"}`:                        param("x"),
		`{~,jobParameter=x}`:                                 param("x"),
		`{~;'jobParameter' => 'x'}`:                          param("x"),
		"{~, # one\n jobParameter /* two */ : // three\r x}": param("x"),
		`{~,"failover":TRUE}`:                                func(c *Config) { c.Failover = true },
		`{~,"u":[,]}`:                                        same,
		`{~,"u":[;1;]}`:                                      same,
		`{~,"u":{a=>1;b:{c:[[{}]]}}}`:                        same,
		`{~,"u":null}`:                                       same,
		")]}'\n{~}":                                          same,
		"\ufeff {~}":                                         same,
		"/* { */ {~} \r\n\t":                                 same,
		`{~,"jobProperties":{}}`:                             same,
		`{~,"jobProperties":{"job_exception_handler":""}}`:   func(c *Config) { c.JobProperties.JobExceptionHandler = "" },
		`{~,"jobProperties":{"executor_service_handler":"q"},"jobProperties":{}}`: same,
		`{~,"scriptCommandLine":5,"streamingProcess":true}`:                       same,
		`{~,"jobType":DATAFLOW,"streamingProcess":true}`:                          func(c *Config) { c.JobType, c.StreamingProcess = Dataflow, true },
		`{~,"jobType":SCRIPT,"jobClass":""}`: func(c *Config) {
			c.JobType, c.JobClass = Script, "com.dangdang.ddframe.job.api.script.ScriptJob"
		},
	}
	for text, change := range good {
		text = strings.ReplaceAll(text, "~", base21)
		want := absent()
		want.JobName, want.JobClass, want.JobType, want.Cron, want.ShardingTotalCount = "j", "a.B", Simple, "c", 2
		change(&want)
		got, err := DecodeConfig([]byte(text))
		if err != nil || got == nil || *got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
			continue
		}
		if same, err := UpdateConfig([]byte(text), got); err != nil || string(same) != text {
			t.Errorf("%s: updated with itself: %s, %v", text, same, err)
		}
	}
	for _, text := range []string{"", " \r\n", "// x", "# x", "/* */", "\ufeff", ")]}'\n"} {
		if got, err := DecodeConfig([]byte(text)); got != nil || err != nil {
			t.Errorf("%q: got %+v, %v, want none", text, got, err)
		}
	}
}

func TestReadConfigRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{~,"monitorPort":007}`, `{~,"monitorPort":+7}`, `{~,"monitorPort":7d}`, `{~,"monitorPort":0x10}`, `{~,"monitorPort":٣}`,
		`{~,"monitorPort":"1_0"}`, `{~,"monitorPort":"2147483648"}`, `{~,"monitorPort":"NaN"}`, `{~,"monitorPort":""}`,
		`{~,"monitorPort":1.5}`, `{~,"monitorPort":{}}`, `{~,"monitorPort":}`, `{~,"monitorPort"}`, `{~,"monitorPort":true}`,
		`{~,"jobParameter":TRUE}`, `{~,"jobParameter":nUll}`, `{~,"jobParameter":a b}`, `{~,"jobParameter":a/b}`, `{~,"jobParameter":a\b}`,
		`{~,"jobParameter":"\u00zz"}`, `{~,"jobParameter":"\u00`, `{~,"jobParameter":"\`, `{~,"jobParameter":"x`, `{~,"jobParameter":[1]}`,
		`{~,"failover":1}`, `{~,"u":{a:}}`, `{~,"u":[1 2]}`, `{~,"u":[1`, `{~,"u":{"a":1,}}`, `{~,"u":"\u00zz"}`, `{~,"u":/* }`,
		" \ufeff{~}", "{~};", "{~}#", "{~}/", "{~}\f", "\f{~}", "/", "{~,}", "{~", "{~,a", "{~,a:", "{", "[", "1", `"x"`, "{}",
		`{~,"jobProperties":{"x":1}}`, `{~,"jobProperties":[]}`, `{~,"jobProperties":""}`, `{~,"jobClass":""}`,
		`{~,"streamingProcess":5}`, `{~,"jobType":"X","jobType":"SIMPLE"}`, `{~,"jobName":""}`,
		`{~,"u":` + strings.Repeat("[", 200000), `{~,"u":` + strings.Repeat("{a:", 200000), `{~}` + strings.Repeat(" ", MaxConfig),
	} {
		text = strings.ReplaceAll(text, "~", base21)
		got, err := DecodeConfig([]byte(text))
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("%.200s: got %+v, %.600v, want a short error", text, got, err)
		}
	}
}

func TestUpdateConfig(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		raw, want string
		change    func(*Config)
	}{
		"one value": {
			`{"jobName":"j", 'cron' : '0 0 * * * ?' ,"x":{"y":[1,2 ]},"jobType":SIMPLE,jobClass=a.B,"shardingTotalCount":"3"} `,
			`{"jobName":"j", 'cron' : "0/5 * * * * ?" ,"x":{"y":[1,2 ]},"jobType":SIMPLE,jobClass=a.B,"shardingTotalCount":"3"} `,
			func(c *Config) { c.Cron = "0/5 * * * * ?" },
		},
		"escapes of others stay": {
			`{~,"jobParameter":"a=b\/c","description":"\u003d","monitorPort":-1}`,
			`{~,"jobParameter":"a=b\/c","description":"\u003d\u003d","monitorPort":9}`,
			func(c *Config) { c.Description, c.MonitorPort = "==", 9 },
		},
		"missing keys come last, in order": {
			"\ufeff{ ~,\n \"unknown\": null // why\n}\n",
			"\ufeff{ ~,\n \"unknown\": null,\"failover\":true,\"misfire\":true // why\n}\n",
			func(c *Config) { c.Misfire, c.Failover = true, true },
		},
		"the last of two counts": {
			`{~,"disabled":true,"disabled":false}`,
			`{~,"disabled":true,"disabled":true}`,
			func(c *Config) { c.Disabled = true },
		},
		"handlers": {
			`{~,"jobProperties":{"job_exception_handler":"x.E"},"overwrite":true}`,
			`{~,"jobProperties":{"job_exception_handler":"x.F","executor_service_handler":"x.P"},"overwrite":false}`,
			func(c *Config) { c.JobProperties, c.Overwrite = JobProperties{"x.F", "x.P"}, false },
		},
		"handlers in an empty object": {
			`{~,"jobProperties":{ }}`,
			`{~,"jobProperties":{"executor_service_handler":"x.P" }}`,
			func(c *Config) { c.JobProperties.ExecutorServiceHandler = "x.P" },
		},
		"handlers said twice": {
			`{~,"jobProperties":{"job_exception_handler":"x.E"},"jobProperties":{"executor_service_handler":"x.P"}}`,
			`{~,"jobProperties":{"job_exception_handler":"x.E"},"jobProperties":{"executor_service_handler":"x.P","job_exception_handler":"x.F"}}`,
			func(c *Config) { c.JobProperties.JobExceptionHandler = "x.F" },
		},
		"handlers that were not there": {
			`{~}`,
			`{~,"jobProperties":{"job_exception_handler":"x.E","executor_service_handler":"` + handlers + `DefaultExecutorServiceHandler"},"disabled":true}`,
			func(c *Config) { c.JobProperties.JobExceptionHandler, c.Disabled = "x.E", true },
		},
		"another type": {
			`{~,"scriptCommandLine":"old"}`,
			`{"jobName":"j","jobClass":"com.dangdang.ddframe.job.api.script.ScriptJob","jobType":"SCRIPT","cron":"c","shardingTotalCount":2,"scriptCommandLine":"new"}`,
			func(c *Config) { c.JobType, c.ScriptCommandLine = Script, "new" },
		},
		"class of a script": {
			`{"jobName":"j","jobType":"SCRIPT","cron":"c","shardingTotalCount":2,"jobClass":"own"}`,
			`{"jobName":"j","jobType":"SCRIPT","cron":"d","shardingTotalCount":2,"jobClass":"own"}`,
			func(c *Config) { c.Cron = "d" },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, want := strings.ReplaceAll(tt.raw, "~", base21), strings.ReplaceAll(tt.want, "~", base21)
			c, err := DecodeConfig([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			tt.change(c)
			got, err := UpdateConfig([]byte(raw), c)
			if err != nil || string(got) != want {
				t.Errorf("got %v\n%s, want\n%s", err, got, want)
			}
		})
	}
	c := FromJob(job.Config{Name: "j", Shards: 1})
	for _, raw := range []string{"", " "} {
		got, err := UpdateConfig([]byte(raw), &c)
		if want, _ := EncodeConfig(c); err != nil || !bytes.Equal(got, want) {
			t.Errorf("of %q: got %s, %v", raw, got, err)
		}
	}
	if _, err := UpdateConfig([]byte("{"), &c); err == nil {
		t.Error("a broken text is updated")
	}
	c.Description = strings.Repeat("=", MaxConfig/6)
	if _, err := UpdateConfig([]byte("{"+base21+"}"), &c); err == nil {
		t.Error("more than a node holds is written")
	}
	if _, err := EncodeConfig(Config{}); err == nil {
		t.Error("an empty configuration is written")
	}
}

func TestConfigOfJob(t *testing.T) {
	t.Parallel()
	j := job.Config{
		Name: "daily", Kind: job.Simple, Cron: "0 0 2 * * ?", TimeZone: "Europe/Berlin", Shards: 3, ItemParams: "0=a,1=b",
		Param: "p", Description: "d", Module: "m", Strategy: "odevity", Failover: true, Misfire: true, MonitorExecution: true,
		Disabled: true, Overwrite: true, MaxClockSkew: 30 * time.Second, ReconcileEvery: 7 * time.Minute, Timeout: time.Hour, Layout: "2.1",
	}
	c := FromJob(j)
	want := Config{
		JobName: "daily", JobClass: WasmClass, JobType: Simple, Cron: "0 0 2 * * ?", ShardingTotalCount: 3,
		ShardingItemParameters: "0=a,1=b", JobParameter: "p", Failover: true, Misfire: true, Description: "d",
		JobProperties: Default().JobProperties, MonitorExecution: true, MaxTimeDiffSeconds: 30, MonitorPort: -1,
		JobShardingStrategyClass: "com.dangdang.ddframe.job.lite.api.strategy.impl.OdevitySortByNameJobShardingStrategy",
		ReconcileIntervalMinutes: 7, Disabled: true, Overwrite: true,
	}
	if c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if back := c.Apply(j); !reflect.DeepEqual(back, j) {
		t.Errorf("got %+v, want %+v", back, j)
	}
	local := job.Config{Name: "daily", Kind: job.Dataflow, Module: "m", Class: "x.C", Strategy: "average", Layout: "2.1", Timeout: time.Hour}
	back := c.Apply(local)
	if FromJob(back).JobClass != "x.C" || back.Module != "m" || back.Kind != job.Dataflow || back.Timeout != time.Hour {
		t.Errorf("what the registry does not know is lost: %+v", back)
	}
	back.Class, back.Kind = "", job.Simple
	if FromJob(back) != c {
		t.Errorf("got %+v, want %+v", FromJob(back), c)
	}

	manual := FromJob(job.Config{Name: "once", Shards: 1, MaxClockSkew: -5})
	if manual.Cron != ManualCron || manual.MaxTimeDiffSeconds != -1 || manual.ReconcileIntervalMinutes != 0 {
		t.Errorf("got %+v", manual)
	}
	manual.ReconcileIntervalMinutes = -3
	if j := manual.Apply(job.Config{Cron: "x"}); j.Cron != "" || j.MaxClockSkew >= 0 || j.ReconcileEvery != 0 {
		t.Errorf("got %+v", j)
	}
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		"", "{", "{" + base21 + "}", "\ufeff{" + base21 + ",'failover'=>true;u:[,{a:1}]/**/}", "{" + base21 + `,"jobProperties":{"job_exception_handler":"\ud83d"}}`,
		"{" + base21 + ",jobType:SCRIPT,scriptCommandLine:'x',jobProperties:{},misfire:TRUE}\n",
	} {
		f.Add([]byte(s), "param", int32(5), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, param string, n int32, flag bool) {
		c, err := DecodeConfig(raw)
		if err != nil || c == nil {
			return
		}
		text, err := EncodeConfig(*c)
		if err != nil {
			t.Fatalf("%q can be read but not written: %v", raw, err)
		}
		if back, err := DecodeConfig(text); err != nil || *back != *c {
			t.Fatalf("%q reads as %+v, %s as %+v, %v", raw, c, text, back, err)
		}
		if same, err := UpdateConfig(raw, c); err != nil || !bytes.Equal(same, raw) {
			t.Fatalf("%q updated with itself is %q, %v", raw, same, err)
		}
		c.JobParameter, c.MaxTimeDiffSeconds, c.Failover, c.Cron = param, n, flag, "c"+param
		c.JobProperties.ExecutorServiceHandler = param
		if flag {
			c.JobType, c.JobClass, c.StreamingProcess, c.ScriptCommandLine = Dataflow, "a.B", n > 0, ""
		}
		changed, err := UpdateConfig(raw, c)
		if err != nil {
			return // too large
		}
		back, err := DecodeConfig(changed)
		if err != nil {
			t.Fatalf("%q became %q: %v", raw, changed, err)
		}
		want, _ := EncodeConfig(*c)
		if got, err := EncodeConfig(*back); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q became %q, which says\n%s, want\n%s", raw, changed, got, want)
		}
	})
}

func BenchmarkDecodeConfig(b *testing.B) {
	text, err := EncodeConfig(FromJob(job.Config{Name: "j", Shards: 8, Cron: "0/5 * * * * ?", ItemParams: "0=a,1=b"}))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeConfig(text); err != nil {
			b.Fatal(err)
		}
	}
}

// A job whose file names no strategy has none in config, like one that Java has built. Both
// assign as the average strategy does, so naming it or not does not change the job.
func TestNoStrategyIsEmpty(t *testing.T) {
	t.Parallel()
	file := plainJob()
	file.Strategy = "average" // a file that names none means this
	said := FromJob(file)
	file.Unsaid = []string{"strategy"}
	unsaid := FromJob(file)
	if said.JobShardingStrategyClass != strategies+"AverageAllocationJobShardingStrategy" || unsaid.JobShardingStrategyClass != "" {
		t.Errorf("%q where the file says average, %q where it says nothing", said.JobShardingStrategyClass, unsaid.JobShardingStrategyClass)
	}
	for _, there := range []Config{said, unsaid} {
		if j := there.Apply(file); j.Strategy != "average" {
			t.Errorf("%q in the registry makes it %q", there.JobShardingStrategyClass, j.Strategy)
		}
		d := NewJob("", "j").Define(file)
		if m, err := definition.Merge(d, there, nil); err != nil || len(m.Disputed) > 0 || m.Config != definition.Config(there) {
			t.Errorf("%q in the registry becomes %+v, in dispute %v, %v", there.JobShardingStrategyClass, m.Config, m.Disputed, err)
		}
	}
}
