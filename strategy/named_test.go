package strategy

import (
	"reflect"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

type factoryVector struct {
	ID   string `json:"id"`
	Cat  string `json:"cat"`
	Op   string `json:"op"`
	Name string `json:"name"` // null is the empty name in Go
	S    string `json:"s"`
	Want struct {
		Strategy string `json:"strategy"`
		IP       string `json:"ip"`
		Error    string `json:"error"`
		Message  string `json:"message"`
	} `json:"want"`
}

// Each version of ElasticJob knows its own names only. Here one function knows
// them all, so a name that one version refuses has to be one of another's.
func TestFactoryVectors(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, v := range recorded.Vectors[factoryVector](t, "strategy/factory.jsonl") {
		var own func(builtin) string
		switch v.Op {
		case "factory":
			own = func(b builtin) string { return b.class2 }
		case "factory3":
			own = func(b builtin) string { return b.type3 }
		case "ip":
			continue // instance ids
		default:
			t.Errorf("%s: unknown op %q", v.ID, v.Op)
			continue
		}
		seen++
		want, foreign := "", false
		for _, b := range builtins() {
			simple := b.class2[strings.LastIndexByte(b.class2, '.')+1:]
			if v.Name == own(b) || v.Name == "" && want == "" {
				want = simple
			}
			foreign = foreign || v.Name == b.class2 || v.Name == b.type3
		}
		if v.Want.Strategy != want || (v.Want.Error != "") != (want == "") {
			t.Errorf("%s: %q is %q here, %+v there", v.ID, v.Name, want, v.Want)
		}
		if v.Want.Error != "" && (v.Want.Error != "JobConfigurationException" || !strings.Contains(v.Want.Message, "'"+v.Name+"'")) {
			t.Errorf("%s: the recorded fault is new: %+v", v.ID, v.Want)
		}
		if _, err := Named(v.Name); (err == nil) != (want != "" || foreign) {
			t.Errorf("%s: %q: %v", v.ID, v.Name, err)
		}
	}
	if seen < 11 {
		t.Errorf("%d names, want at least 11", seen)
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	const (
		classes  = "com.dangdang.ddframe.job.lite.api.strategy.impl."
		classes3 = "org.apache.shardingsphere.elasticjob.infra.handler.sharding.impl."
	)
	for name, want := range map[string]Func{
		"":        Average,
		"average": Average, "AVG_ALLOCATION": Average, classes + "AverageAllocationJobShardingStrategy": Average,
		"odevity": Odevity, "ODEVITY": Odevity, classes + "OdevitySortByNameJobShardingStrategy": Odevity,
		"rotate": Rotate, "ROUND_ROBIN": Rotate, classes + "RotateServerByNameJobShardingStrategy": Rotate,
		classes3 + "AverageAllocationJobShardingStrategy": Average, classes3 + "OdevitySortByNameJobShardingStrategy": Odevity,
		classes3 + "RoundRobinByNameJobShardingStrategy": Rotate,
		"round-robin": Rotate, "round_robin": Rotate,
	} {
		got, err := Named(name)
		if err != nil || reflect.ValueOf(got).Pointer() != reflect.ValueOf(want).Pointer() {
			t.Errorf("%q: not the one that is meant (%v)", name, err)
		}
	}
	for name, hint := range map[string]string{
		" ": "", "something": "", "Average": `"average"`, "oddevity": `"odevity"`, "round robin": `"round-robin"`,
		"io.example.RotateServerByNameJobShardingStrategy": `"` + classes + `RotateServerByNameJobShardingStrategy"`,
		strings.Repeat("a", 1<<20):                         "",
	} {
		_, err := Named(name)
		if err == nil || len(err.Error()) > 800 || !strings.Contains(err.Error(), "average, odevity, rotate") {
			t.Fatalf("%.20q: %.200v", name, err)
		}
		if strings.Contains(err.Error(), "did you mean "+hint) != (hint != "") {
			t.Errorf("%q: %v, want the hint %s", name, err, hint)
		}
	}
}
