package v1

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

func reader(nodes map[string]string) func(key string) (string, bool) {
	return func(key string) (string, bool) { text, ok := nodes[key]; return text, ok }
}

// TestRecordedConfigs follows the nodes of configurations through the recordings. A new
// job's nodes are written as the member wrote them, in its order. Changes, by a member that
// overwrites or by a console, are those that Update returns.
func TestRecordedConfigs(t *testing.T) {
	t.Parallel()
	jobs, changes := 0, 0
	files := []string{"ej10/stop"}
	for _, name := range recorded.EarlierScenarios(t, "ej1") {
		files = append(files, "ej1/"+name)
	}
	for _, name := range files {
		nodes := map[string]map[string]string{} // by job
		for _, f := range recorded.EarlierFlows(t, name+".json") {
			created, before := map[string][]Entry{}, map[string]map[string]string{}
			var changed []Entry
			for _, w := range f.Each() {
				top, key, ok := strings.Cut(w.Path, "/config/")
				if !ok || w.Op != "create" && w.Op != "setData" {
					continue
				}
				if nodes[top] == nil {
					nodes[top] = map[string]string{}
				}
				if before[top] == nil {
					before[top] = maps.Clone(nodes[top])
				}
				if nodes[top][key] = w.Data; w.Op == "create" {
					created[top] = append(created[top], Entry{key, w.Data})
				} else {
					changed = append(changed, Entry{key, w.Data})
				}
			}
			for top, want := range created {
				jobs++
				c, err := Decode(reader(nodes[top]))
				if err != nil {
					t.Fatalf("%s, %s: %v", name, f.Name, err)
				}
				if got, err := Encode(*c); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s, %s: %v\ngot  %q\nwant %q", name, f.Name, err, got, want)
				}
			}
			for top, old := range before {
				if len(changed) == 0 {
					continue
				}
				changes++
				c, err := Decode(reader(nodes[top]))
				if err != nil {
					t.Fatalf("%s, %s: %v", name, f.Name, err)
				}
				got, err := Update(reader(old), *c)
				if err != nil || !slices.Equal(sorted(got), sorted(changed)) {
					t.Errorf("%s, %s: %v\ngot  %q\nwant %q", name, f.Name, err, got, changed)
				}
			}
		}
	}
	if jobs < 19 || changes < 8 {
		t.Errorf("only %d jobs and %d changes", jobs, changes)
	}
}

// A console writes keys in an order of its own.
func sorted(all []Entry) []Entry {
	return slices.SortedFunc(slices.Values(all), func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
}

func plain() map[string]string {
	return map[string]string{"jobType": "SIMPLE", "jobClass": "a.B", "shardingTotalCount": "2", "cron": "0 0 2 * * ?", "misfire": "TRUE", "unknown": "x"}
}

func TestConfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, text, want string }{
		{"jobType", "DATAFLOW", "none of SIMPLE, DATA_FLOW, SCRIPT"},
		{"jobType", "", "jobType is empty"},
		{"jobClass", "", "config/jobClass is missing or empty"},
		{"cron", "", "config/cron is missing or empty"},
		{"shardingTotalCount", "0", "less than 1"},
		{"shardingTotalCount", "2147483648", "config/shardingTotalCount: \"2147483648\": expected a number of 32 bits"},
		{"shardingTotalCount", " 2", "expected a number"},
		{"monitorExecution", "1", "config/monitorExecution: \"1\": expected true or false"},
		{"description", strings.Repeat("x", MaxConfig), "its keys have 983079 bytes, more than 983040"},
	} {
		nodes := plain()
		nodes[c.key] = c.text
		if _, err := Decode(reader(nodes)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%.50q: got %v, want %s", c.key, c.text, err, c.want)
		}
	}
	for _, key := range []string{"jobClass", "shardingTotalCount", "cron"} {
		nodes := plain()
		delete(nodes, key)
		if _, err := Decode(reader(nodes)); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("without %s: %v", key, err)
		}
	}
}

// Update leaves a text in another form, a key of another type, and a missing key, which a
// member may be about to write. A missing flag is false, whatever its default.
func TestUpdateLeavesWhatMeansTheSame(t *testing.T) {
	t.Parallel()
	nodes := plain()
	c, err := Decode(reader(nodes))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Update(reader(nodes), *c); err != nil || len(got) > 0 {
		t.Errorf("without a change: %v, %v", got, err)
	}
	if c.MonitorExecution || c.Failover || c.MaxTimeDiffSeconds != -1 {
		t.Errorf("missing keys are read as %+v", c)
	}
	c.Misfire, c.MonitorExecution, c.FetchDataCount = false, true, 7
	if got, err := Update(reader(nodes), *c); err != nil || !slices.Equal(got, []Entry{{"monitorExecution", "true"}, {"misfire", "false"}}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("SIMPLE", "a.B", "2", "c", "true", "-1", "cmd")
	f.Add("DATA_FLOW", "a.B", "+02", "c", "TRUE", "2147483647", "")
	f.Add("SCRIPT", "", "1", "\x00ü", "false", "0", "/bin/echo")
	f.Add("", "a.B", "1", "c", "false", "7", "")
	f.Fuzz(func(t *testing.T, kind, class, total, cron, flag, number, command string) {
		nodes := map[string]string{
			"jobType": kind, "jobClass": class, "shardingTotalCount": total, "cron": cron, "failover": flag, "streamingProcess": flag,
			"fetchDataCount": number, "monitorPort": number, "scriptCommandLine": command,
		}
		if kind == "" {
			delete(nodes, "jobType")
		}
		c, err := Decode(reader(nodes))
		if err != nil {
			return
		}
		all, err := Encode(*c)
		if err != nil {
			t.Fatalf("%q can be read but not written: %v", nodes, err)
		}
		again := map[string]string{}
		for _, e := range all {
			again[e.Key] = e.Text
		}
		back, err := Decode(reader(again))
		if err != nil || *back != *c {
			t.Fatalf("%q reads as %+v, %q as %+v, %v", nodes, c, again, back, err)
		}
		if changed, err := Update(reader(again), *c); err != nil || len(changed) > 0 {
			t.Fatalf("%q updated with itself changes %q, %v", again, changed, err)
		}
	})
}
