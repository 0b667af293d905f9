package v20

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// answer is what the library of 2.0.5 made from a text: the text that it would write, or an
// error.
type answer struct{ S, JSON, Error string }

func answers(t testing.TB) []answer {
	t.Helper()
	var all []answer
	for d := json.NewDecoder(bytes.NewReader(recorded.Earlier(t, "config20.jsonl"))); d.More(); {
		var a answer
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	if len(all) < 80 {
		t.Fatalf("only %d answers", len(all))
	}
	return all
}

func TestConfigIsReadAndWrittenAsInJava(t *testing.T) {
	t.Parallel()
	for _, a := range answers(t) {
		c, err := DecodeConfig([]byte(a.S))
		if a.Error != "" {
			if err == nil && c != nil {
				t.Errorf("%s is read, and Java says %s", a.S, a.Error)
			}
			continue
		}
		if err != nil || c == nil {
			t.Errorf("%s: %v, and Java reads it", a.S, err)
			continue
		}
		got, err := EncodeConfig(*c)
		if err != nil || string(got) != a.JSON {
			t.Errorf("%s: %v\ngot  %s\nwant %s", a.S, err, got, a.JSON)
		}
	}
}

// TestRecordedConfigs reads what members have written, and writes it again to the byte. A
// console of 2.0 writes other keys in another order.
func TestRecordedConfigs(t *testing.T) {
	t.Parallel()
	members, consoles := 0, 0
	for _, name := range recorded.EarlierScenarios(t, "ej20") {
		for _, f := range recorded.EarlierFlows(t, "ej20/"+name+".json") {
			for _, w := range f.Each() {
				if !strings.HasSuffix(w.Path, "/config") || w.Op != "create" && w.Op != "setData" {
					continue
				}
				c, err := DecodeConfig([]byte(w.Data))
				if err != nil || c == nil {
					t.Fatalf("%s, %s: %v", name, f.Name, err)
				}
				if w.By == "tool" {
					consoles++
					continue
				}
				members++
				if got, err := EncodeConfig(*c); err != nil || string(got) != w.Data {
					t.Errorf("%s, %s: %v\ngot  %s\nwant %s", name, f.Name, err, got, w.Data)
				}
			}
		}
	}
	if members < 15 || consoles < 3 {
		t.Errorf("only %d configurations of members, and %d of consoles", members, consoles)
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	const good = `{"jobName":"j","jobClass":"a.B","jobType":"SIMPLE","cron":"c","shardingTotalCount":2}`
	for _, c := range []struct{ old, with, want string }{
		{`"cron":"c"`, `"cron":""`, "cron is empty"},
		{`:2`, `:0`, "shardingTotalCount is 0"},
		{`SIMPLE`, `WASM`, "is none of SIMPLE, DATAFLOW, SCRIPT"},
		{`"a.B"`, `""`, "jobClass is empty"},
		{`:2`, `:2,"failover":null`, "failover"},
		{`"j"`, `"` + strings.Repeat("j", v21.MaxConfig) + `"`, "bytes are more than"},
	} {
		_, err := DecodeConfig([]byte(strings.Replace(good, c.old, c.with, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: got %v, want %s", c.with, err, c.want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	for _, a := range answers(f) {
		f.Add([]byte(a.S))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
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
	})
}
