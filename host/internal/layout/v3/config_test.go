package v3

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// settings3 are the fields of a recorded configuration; null and missing are both nil.
type settings3 struct {
	JobName                       *string            `json:"jobName"`
	Cron                          *string            `json:"cron"`
	TimeZone                      *string            `json:"timeZone"`
	ShardingTotalCount            *int32             `json:"shardingTotalCount"`
	ShardingItemParameters        *string            `json:"shardingItemParameters"`
	JobParameter                  *string            `json:"jobParameter"`
	MonitorExecution              *bool              `json:"monitorExecution"`
	Failover                      *bool              `json:"failover"`
	Misfire                       *bool              `json:"misfire"`
	MaxTimeDiffSeconds            *int32             `json:"maxTimeDiffSeconds"`
	ReconcileIntervalMinutes      *int32             `json:"reconcileIntervalMinutes"`
	JobShardingStrategyType       *string            `json:"jobShardingStrategyType"`
	JobExecutorServiceHandlerType *string            `json:"jobExecutorServiceHandlerType"`
	JobErrorHandlerType           *string            `json:"jobErrorHandlerType"`
	Description                   *string            `json:"description"`
	Disabled                      *bool              `json:"disabled"`
	Overwrite                     *bool              `json:"overwrite"`
	Label                         *string            `json:"label"`
	StaticSharding                *bool              `json:"staticSharding"`
	Props                         *map[string]string `json:"props"`
}

// put sets the fields of c that are there.
func (s settings3) put(c *Config) {
	from, to := reflect.ValueOf(s), reflect.ValueOf(c).Elem()
	for i := range from.NumField() {
		if name := from.Type().Field(i).Name; name != "Props" && !from.Field(i).IsNil() {
			to.FieldByName(name).Set(from.Field(i).Elem())
		}
	}
	if s.Props != nil {
		c.setProps(*s.Props)
	}
}

type vector3 struct {
	ID     string    `json:"id"`
	Cat    string    `json:"cat"`
	Op     string    `json:"op"`
	S      string    `json:"s"`
	Config settings3 `json:"config"`
	Want   struct {
		YAML   string          `json:"yaml"`
		Config json.RawMessage `json:"config"`
		ReYAML string          `json:"reyaml"`
		Error  string          `json:"error"`
	} `json:"want"`
}

func TestVectorsConfig(t *testing.T) {
	t.Parallel()
	for _, v := range recorded.Vectors[vector3](t, "config/lite3.jsonl") {
		switch v.Op {
		case "toyaml":
			c := Default()
			v.Config.put(&c)
			got, err := EncodeConfig(c)
			if err != nil || string(got) != v.Want.YAML {
				t.Errorf("%s: got\n%s, %v, want\n%s", v.ID, got, err, v.Want.YAML)
			}
			if back, err := DecodeConfig("", got); err != nil || back == nil || *back != c {
				t.Errorf("%s: read back:\n%+v, %v, want\n%+v", v.ID, back, err, c)
			}
		case "fromyaml":
			readVector3(t, v)
		default:
			t.Errorf("%s: unknown op %q", v.ID, v.Op)
		}
	}
}

func readVector3(t *testing.T, v vector3) {
	t.Helper()
	got, err := DecodeConfig("", []byte(v.S))
	if v.Want.Error != "" || err != nil {
		if v.Want.Error == "" || err == nil {
			t.Errorf("%s: got %+v, %v, want %+v", v.ID, got, err, v.Want)
		}
		return
	}
	if string(v.Want.Config) == "null" {
		if got != nil {
			t.Errorf("%s: got %+v, want none", v.ID, got)
		}
		return
	}
	var s settings3
	d := json.NewDecoder(bytes.NewReader(v.Want.Config))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatalf("%s: %v", v.ID, err)
	}
	var want Config
	if s.put(&want); got == nil || *got != want {
		t.Errorf("%s: got\n%+v, want\n%+v", v.ID, got, want)
		return
	}
	if again, err := EncodeConfig(*got); err != nil || string(again) != v.Want.ReYAML {
		t.Errorf("%s: written again:\n%s, %v, want\n%s", v.ID, again, err, v.Want.ReYAML)
	}
	if same, err := UpdateConfig("", []byte(v.S), got); err != nil || string(same) != v.S {
		t.Errorf("%s: updated with itself: %s, %v", v.ID, same, err)
	}
}

const minimal = "jobName: j\nshardingTotalCount: 2\n"

func TestReadConfigRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		minimal + "cron: * * * * * ?\n":                  "line 3, column",
		minimal + "cron: &a x\n":                         "line 3, column 7: an anchor",
		minimal + "label: &a x\ndescription: *a\n":       "line 3, column 8: an anchor",
		minimal + "label: !!str x\n":                     "line 3, column 8: a tag",
		minimal + "failover: 1\n":                        "failover: line 3, column 11: expected true or false",
		minimal + "failover: 'true'\n":                   "failover: line 3, column 11: expected true or false",
		minimal + "failover:\n":                          "failover: line 3",
		minimal + "misfire: {}\n":                        "misfire: line 3, column 10",
		minimal + "label: [a]\n":                         "label: line 3, column 8: expected a text",
		minimal + "maxTimeDiffSeconds: 1.5\n":            "line 3, column 21: expected a decimal number",
		minimal + "maxTimeDiffSeconds: 3000000000\n":     "line 3, column 21: expected a decimal number",
		minimal + "maxTimeDiffSeconds: 0x10\n":           "line 3, column 21: expected a decimal number",
		minimal + "maxTimeDiffSeconds: '5'\n":            "line 3, column 21: expected a decimal number",
		minimal + "jobClass: a.B\n":                      "jobClass: line 3, column 1: no release of ElasticJob 3 knows the key",
		minimal + "props: a\n":                           "props: line 3, column 8: expected keys with texts",
		minimal + "props:\n  a:\n    b: c\n":             "a: line 5, column 5: expected a text",
		minimal + "props:\n  5: b\n":                     "line 4, column 3: expected a key that is a text: write it in quotes",
		minimal + "props:\n  ~: b\n":                     "line 4, column 3: expected a key that is a text: write it in quotes",
		minimal + "props:\n  yes: b\n":                   "line 4, column 3: expected a key that is a text: write it in quotes",
		minimal + "props: {2001-01-01: b}\n":             "line 3, column 9: expected a key that is a text: write it in quotes",
		minimal + "props:\n  a: null\n":                  "a: line 4, column 6: expected a text",
		minimal + "props:\n":                             "props: line 3, column 7: expected keys with texts",
		minimal + "label:\tx\n":                          "line 3, column 8: a tab stands before it",
		minimal + "jobExtraConfigurations:\n":            "jobExtraConfigurations: line 3, column 24: expected a list",
		minimal + "jobExtraConfigurations: ''\n":         "jobExtraConfigurations: line 3, column 25: expected a list",
		minimal + "jobListenerTypes: a\n":                "jobListenerTypes: line 3, column 19: expected a list",
		minimal + "jobListenerTypes:\n- [a]\n":           "jobListenerTypes: line 4, column 3: expected the type",
		minimal + " failover: true\n":                    "line",
		minimal + "\tfailover: true\n":                   "line",
		minimal + "---\n" + minimal:                      "line 3, column 1: expected one document",
		minimal + "label: \xff\n":                        "line 3, column 8: it is not UTF-8",
		minimal + "<<: {failover: true}\n":               "line 3, column 1: expected a key that is a text",
		"- a\n":                                          "line 1, column 1: expected keys with values",
		"x\n":                                            "line 1, column 1: expected keys with values",
		"shardingTotalCount: 2\n":                        "jobName is empty",
		"jobName: j\n":                                   "shardingTotalCount is 0, less than 1",
		"{jobName: j, jobExtraConfigurations: [!!a {}]}": "line 1, column 1: write each of the outermost keys in a line of its own",
		minimal + "label: " + strings.Repeat("[", 20):    "line",
		minimal + "props: {a: " + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "}\n": "it is more than 8 deep",
		minimal + "label: " + strings.Repeat("x", MaxConfig):                                "bytes are more than 524288",
	} {
		c, err := DecodeConfig("", []byte(text))
		if c != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: %+v, %v, want %q", text, c, err, want)
		}
	}
}

const extra = "jobExtraConfigurations:\n- !!org.apache.shardingsphere.elasticjob.tracing.yaml.YamlTracingConfiguration\n  type: RDB\n"

func TestUpdateConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, raw string
		change    func(*Config)
		want      string
	}{
		{"nothing", minimal, func(*Config) {}, minimal},
		{"a value", "# ours\njobName: j # x\nshardingTotalCount: 2 # two\n\n# end\n", func(c *Config) { c.ShardingTotalCount = 3 }, "# ours\njobName: j # x\nshardingTotalCount: 3\n\n# end\n"},
		{"a new key in its place", minimal, func(c *Config) { c.Cron, c.Label, c.TimeZone = "0 * * * * ?", "l", "GMT+8" }, "cron: 0 * * * * ?\njobName: j\nlabel: l\nshardingTotalCount: 2\ntimeZone: GMT+8\n"},
		{"a key that goes", "cron: x\n" + minimal, func(c *Config) { c.Cron = "" }, minimal},
		{"a missing flag", minimal, func(c *Config) { c.Misfire = true }, "jobName: j\nmisfire: true\nshardingTotalCount: 2\n"},
		{"what is repeated", minimal + "jobName: k\n", func(c *Config) { c.JobName = "l" }, minimal + "jobName: l\n"},
		{"a text of several lines", "description: |-\n  a\n  # b\n" + minimal, func(c *Config) { c.Description = "c" }, "description: c\n" + minimal},
		{"a last line without end", "jobName: j\nshardingTotalCount: 2", func(c *Config) { c.TimeZone = "GMT" }, minimal + "timeZone: GMT\n"},
		{"extra configurations stay", extra + minimal, func(c *Config) { c.Failover = true }, "failover: true\n" + extra + minimal},
		{"props", minimal + "props:\n  b: '1' # x\n  a: 2\n", func(c *Config) { c.Failover = true }, "failover: true\n" + minimal + "props:\n  b: '1' # x\n  a: 2\n"},
		{"one of props", minimal + "props:\n  b: '1' # x\n  a: 2\n", func(c *Config) { c.Dataflow, c.StreamingProcess = true, true }, minimal + "props:\n  a: '2'\n  b: '1'\n  streaming.process: 'true'\n"},
		{"listeners", minimal + "jobListenerTypes: [a, b]\n", func(c *Config) { c.JobListenerTypes += "\n- c" }, minimal + "jobListenerTypes:\n- a\n- b\n- '- c'\n"},
		{"braces", `{"jobName":"j","shardingTotalCount":2}`, func(c *Config) { c.ShardingTotalCount = 3 }, "description: ''\ndisabled: false\nfailover: false\njobName: j\njobParameter: ''\nmaxTimeDiffSeconds: -1\nmisfire: false\nmonitorExecution: false\noverwrite: false\nreconcileIntervalMinutes: 0\nshardingItemParameters: ''\nshardingTotalCount: 3\nstaticSharding: false\n"},
	} {
		read, err := DecodeConfig("", []byte(c.raw))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		c.change(read)
		got, err := UpdateConfig("", []byte(c.raw), read)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got\n%s, %v, want\n%s", c.name, got, err, c.want)
		}
		if back, err := DecodeConfig("", got); err != nil || *back != *read {
			t.Errorf("%s: read back:\n%+v, %v, want\n%+v", c.name, back, err, read)
		}
	}
}

// Line breaks behind a text may be part of it, for Java as well: those of a key that goes, and
// the one that a key behind the last text needs.
func TestUpdateConfigChangesNoOtherText(t *testing.T) {
	t.Parallel()
	for raw, change := range map[string]func(*Config){
		"label: l\n\n \n# c\n" + minimal:                      func(c *Config) { c.Label = "a\n\n" },
		"jobParameter: |+\n  a\n\ncron: x\n\n# c\n" + minimal: func(c *Config) { c.Cron = "" },
		minimal + "label: |\n  a":                             func(c *Config) { c.TimeZone = "GMT" },
	} {
		c, err := DecodeConfig("", []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		change(c)
		got, err := UpdateConfig("", []byte(raw), c)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := DecodeConfig("", got); err != nil || *back != *c {
			t.Errorf("%q became %q: %+v, %v, want %+v", raw, got, back, err, c)
		}
	}
}

func FuzzConfig(f *testing.F) {
	for _, v := range recorded.Vectors[vector3](f, "config/lite3.jsonl") {
		f.Add(v.S+v.Want.YAML, "a", int32(3))
	}
	f.Add(extra+minimal, "x\ny ", int32(1))
	f.Add("a: &a [*a]\n", "\t", int32(1))
	f.Add("? a\n: |2+\n   b\n\n", "'", int32(1))
	f.Fuzz(func(t *testing.T, text, param string, total int32) {
		c, err := DecodeConfig("", []byte(text))
		if err != nil || c == nil {
			return
		}
		if same, err := UpdateConfig("", []byte(text), c); err != nil && !strings.Contains(err.Error(), "control character") || err == nil && string(same) != text {
			t.Errorf("updated with itself: %q, %v", same, err)
		}
		c.JobParameter, c.ShardingTotalCount = param, total
		changed, err := UpdateConfig("", []byte(text), c)
		if err != nil {
			return
		}
		back, err := DecodeConfig("", changed)
		if err != nil || *back != *c {
			t.Errorf("changed to %q: %+v, %v, want %+v", changed, back, err, c)
		}
	})
}
