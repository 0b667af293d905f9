package v3

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/job"
)

// simple returns a job of ours with only defaults.
func simple() job.Config {
	return job.Config{Name: "j", Layout: job.Layout3, Kind: job.Simple, Cron: "0 * * * * ?", Shards: 2, MonitorExecution: true, MaxClockSkew: -1, ReconcileEvery: 10 * time.Minute}
}

func TestConfigOfJob(t *testing.T) {
	t.Parallel()
	const rest = "maxTimeDiffSeconds: -1\nmisfire: false\nmonitorExecution: true\noverwrite: false\n"
	const items = "reconcileIntervalMinutes: 10\nshardingItemParameters: ''\nshardingTotalCount: 2\nstaticSharding: false\n"
	const begin = "description: ''\ndisabled: false\nfailover: false\n"
	const named = "jobName: j\njobParameter: ''\n"
	for _, c := range []struct {
		name   string
		change func(*job.Config)
		class  string
		want   string
	}{
		{"a simple one", func(*job.Config) {}, WasmClass, "cron: 0 * * * * ?\n" + begin + named + rest + items},
		{"a class", func(j *job.Config) { j.Class = "a.B" }, "a.B", "cron: 0 * * * * ?\n" + begin + named + rest + items},
		{"one that is only triggered", func(j *job.Config) { j.Cron = "" }, WasmClass, begin + named + rest + items},
		{"dataflow", func(j *job.Config) { j.Kind, j.Streaming = job.Dataflow, true }, WasmClass, "cron: 0 * * * * ?\n" + begin + named + rest + "props:\n  streaming.process: 'true'\n" + items},
		{"a script", func(j *job.Config) { j.Kind, j.Command = job.Script, "echo a" }, "SCRIPT", "cron: 0 * * * * ?\n" + begin + named + rest + "props:\n  script.command.line: echo a\n" + items},
		{"a time zone", func(j *job.Config) { j.TimeZone = "GMT+8" }, WasmClass, "cron: 0 * * * * ?\n" + begin + named + rest + items + "timeZone: GMT+8\n"},
		{"one that ElasticJob does not know", func(j *job.Config) { j.TimeZone = "Europe/Berlin" }, WasmClass, "cron: 0 * * * * ?\n" + begin + named + rest + items},
		{"a strategy", func(j *job.Config) { j.Strategy = "rotate" }, WasmClass, "cron: 0 * * * * ?\n" + begin + named + "jobShardingStrategyType: ROUND_ROBIN\n" + rest + items},
		{"a strategy by its class", func(j *job.Config) {
			j.Strategy = "org.apache.shardingsphere.elasticjob.infra.handler.sharding.impl.RoundRobinByNameJobShardingStrategy"
		}, WasmClass, "cron: 0 * * * * ?\n" + begin + named + "jobShardingStrategyType: ROUND_ROBIN\n" + rest + items},
		{"an error handler", func(j *job.Config) { j.ErrorHandler = job.ThrowErrors }, WasmClass, "cron: 0 * * * * ?\n" + begin + "jobErrorHandlerType: THROW\n" + named + rest + items},
	} {
		j := simple()
		c.change(&j)
		config := FromJob(j)
		text, err := EncodeConfig(config)
		if err != nil || string(text) != c.want || config.Class != c.class {
			t.Errorf("%s: %q has\n%s, %v, want %q\n%s", c.name, config.Class, text, err, c.class, c.want)
			continue
		}
		back, err := DecodeConfig(config.Class, text)
		if err != nil || *back != config {
			t.Errorf("%s: read back:\n%+v, %v, want\n%+v", c.name, back, err, config)
			continue
		}
		if d := cmp.Diff(j, back.Apply(j)); d != "" {
			t.Errorf("%s: applied to itself: %s", c.name, d)
		}
		object, err := config.Object()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := (Config{}).FromObject(object); err != nil || again != definition.Config(config) {
			t.Errorf("%s: from its object:\n%+v, %v, want\n%+v", c.name, again, err, config)
		}
	}
	j := simple()
	j.MonitorPort = 5000
	if _, err := FromJob(j).Object(); err == nil || !strings.Contains(err.Error(), "monitor_port: a job of layout 3 has none") {
		t.Errorf("a monitor port: %v", err)
	}
}

// Settings that a file cannot give stay; others differ as they did.
func TestAdopt(t *testing.T) {
	t.Parallel()
	there, err := DecodeConfig("a.B", []byte(minimal+extra+"jobErrorHandlerType: EMAIL\njobExecutorServiceHandlerType: SINGLE_THREAD\njobListenerTypes:\n- l\nlabel: x\nstaticSharding: true\njobShardingStrategyType: AVG_ALLOCATION\nprops:\n  email.host: h\n  k: v\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := FromJob(simple()).Adopt(*there, "a.B").(Config)
	want := *there
	mine := FromJob(simple())
	want.Cron, want.Misfire, want.MonitorExecution, want.ReconcileIntervalMinutes = mine.Cron, mine.Misfire, mine.MonitorExecution, mine.ReconcileIntervalMinutes
	if got != want {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	for _, zones := range []struct{ file, registry, want string }{
		{"GMT+8", "GMT+08:00", "GMT+08:00"}, {"GMT", "GMT-0", "GMT-0"}, {"GMT-3:30", "GMT+3:30", "GMT-3:30"}, {"GMT+8", "", "GMT+8"}, {"Europe/Berlin", "GMT+1", ""},
	} {
		j := simple()
		j.TimeZone, there.TimeZone = zones.file, zones.registry
		if got := FromJob(j).Adopt(*there, "").(Config).TimeZone; got != zones.want {
			t.Errorf("%s where the registry has %q becomes %q, want %q", zones.file, zones.registry, got, zones.want)
		}
	}
	loud := simple()
	loud.ErrorHandler = job.IgnoreErrors
	if got := FromJob(loud).Adopt(*there, "").(Config); got.JobErrorHandlerType != "IGNORE" || got.Class != WasmClass {
		t.Errorf("a file that says something has %q, %q", got.JobErrorHandlerType, got.Class)
	}
}

// A job whose class makes it a dataflow need not say so.
func TestAdoptDataflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, class, registry string
		streaming             bool // as the file sets it
		dataflow, runs        bool // the file's dataflow after that, and whether the registry makes the job streaming
	}{
		{"neither says anything", "a.B", "", false, false, false},
		{"the file says streaming", "a.B", "", true, true, false},
		{"the registry says streaming", "a.B", "props: {streaming.process: 'true'}\n", false, true, true},
		{"a job of ours", WasmClass, "", false, true, false},
	} {
		j := simple()
		j.Kind, j.Streaming, j.Class = job.Dataflow, c.streaming, c.class
		there, err := DecodeConfig(c.class, []byte(minimal+c.registry))
		if err != nil {
			t.Fatal(err)
		}
		if got := FromJob(j).Adopt(*there, c.class).(Config); got.Dataflow != c.dataflow || got.StreamingProcess != c.streaming {
			t.Errorf("%s: the file says %v, %v", c.name, got.Dataflow, got.StreamingProcess)
		}
		if got := there.Apply(j).Streaming; got != c.runs {
			t.Errorf("%s: it runs as streaming %v", c.name, got)
		}
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]definition.Facts{
		WasmClass: {Kind: job.Simple, Type: "SIMPLE", OnlyOurs: true},
		"a.B":     {Kind: job.Simple, Type: "SIMPLE"},
		"":        {Kind: job.Simple, Type: "SIMPLE", OnlyOurs: true},
		"SCRIPT":  {Kind: job.Script, Type: "SCRIPT", OnlyOurs: true},
		"HTTP":    {Kind: job.Simple, Type: "HTTP", HTTP: true},
	} {
		c, err := DecodeConfig(class, []byte(minimal))
		if err != nil {
			t.Fatal(err)
		}
		want.Name, want.Layout, want.Class = "j", job.Layout3, class
		if got := c.Facts(); got != want {
			t.Errorf("%q: %+v, want %+v", class, got, want)
		}
	}
	for name, want := range map[string]string{"ODEVITY": "", "com.acme.Mine": "", "com.dangdang.ddframe.job.lite.api.strategy.impl.OdevitySortByNameJobShardingStrategy": "ODEVITY", "rotate": "ROUND_ROBIN"} {
		if c, err := DecodeConfig("a.B", []byte(minimal+"jobShardingStrategyType: "+name+"\n")); err != nil || c.Facts().StrategyType != want {
			t.Errorf("the strategy %s is %+v, %v, want the type %q", name, c, err, want)
		}
	}
	if c, err := DecodeConfig("a.B", []byte(minimal+"staticSharding: true\n")); err != nil || !c.Facts().Static {
		t.Errorf("a job with static sharding is %+v, %v", c, err)
	}
	if c, err := DecodeConfig("a.B", []byte(minimal+"props: {streaming.process: false}\n")); err != nil || c.Facts().Kind != job.Dataflow || c.StreamingProcess {
		t.Errorf("a dataflow job is %+v, %v", c, err)
	}
}

// The order was recorded from java.util.Properties of OpenJDK 17.
func TestJavaOrder(t *testing.T) {
	t.Parallel()
	var want []string
	for _, n := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "11", "14", "13", "16", "15", "18", "17", "19", "21", "20", "23", "22", "25", "24", "27", "26", "29", "28"} {
		want = append(want, "p"+n)
	}
	props := map[string]string{}
	for _, name := range want {
		props[name] = ""
	}
	if got := javaOrder(props); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestObjectsWithSettingsOfOurs(t *testing.T) {
	t.Parallel()
	c := Default()
	c.JobName, c.ShardingTotalCount, c.TimeZone = "j", 2, "GMT+8"
	text, err := c.Object()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{"timezone":"UTC",` + string(text[1:]), string(text[:len(text)-1]) + `,"timezone":"UTC"}`} {
		if back, err := c.FromObject([]byte(text)); err != nil || back != c {
			t.Errorf("%s: %+v, %v", text, back, err)
		}
	}
}
