package definition_test

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
)

// If the files of two servers differ, the one that was changed last decides, however
// often the other server starts.
func TestMergeOfTwoFiles(t *testing.T) {
	t.Parallel()
	type step struct {
		server   string // a or b; empty: an operator
		shards   int    // in its file
		setting  string // likewise; empty: none
		want     int
		kept     string // the setting then
		disputed []string
		older    bool
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"an_older_file_starts_again", []step{
			{server: "a", shards: 1, want: 1},
			{server: "b", shards: 2, want: 2},
			{server: "a", shards: 1, want: 2, disputed: []string{"shardingTotalCount"}, older: true},
			{server: "a", shards: 1, want: 2, disputed: []string{"shardingTotalCount"}, older: true},
			{server: "b", shards: 2, want: 2},
			{server: "a", shards: 2, want: 2},
		}},
		{"the_older_one_is_changed", []step{
			{server: "a", shards: 1, want: 1},
			{server: "b", shards: 2, want: 2},
			{server: "a", shards: 3, want: 3},
			{server: "b", shards: 2, want: 3, disputed: []string{"shardingTotalCount"}, older: true},
		}},
		{"a_change_is_taken_back", []step{
			{server: "a", shards: 1, want: 1},
			{server: "a", shards: 2, want: 2},
			{server: "a", shards: 1, want: 1},
		}},
		{"a_key_that_one_does_not_have", []step{
			{server: "a", shards: 1, want: 1},
			{server: "b", shards: 1, setting: "x", want: 1, kept: "x"},
			{server: "a", shards: 1, want: 1, kept: "x", disputed: []string{"config.key"}, older: true},
			{server: "b", shards: 1, want: 1},
			{server: "a", shards: 1, want: 1},
		}},
		{"an_operator_between", []step{
			{server: "a", shards: 1, want: 1},
			{server: "b", shards: 2, want: 2},
			{shards: 5, want: 5},
			{server: "b", shards: 2, want: 5},
			{server: "a", shards: 1, want: 5, disputed: []string{"shardingTotalCount"}, older: true},
			{server: "b", shards: 3, want: 5, disputed: []string{"shardingTotalCount"}},
			{server: "b", shards: 3, want: 5, disputed: []string{"shardingTotalCount"}}, // not applied, so not remembered
		}},
		{"a_server_that_is_new", []step{ // nothing shows that its file is the older one
			{server: "a", shards: 1, want: 1},
			{server: "a", shards: 2, want: 2},
			{server: "b", shards: 1, want: 1},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var h held
			said := map[string][]byte{}
			for i, s := range tt.steps {
				file := plainJob()
				file.Shards, file.ModuleDigest = s.shards, digestA
				if s.setting != "" {
					file.Settings = map[string]string{"key": s.setting}
				}
				if s.server == "" {
					h.operate(func(j *job.Config) { j.Shards = s.shards })
					continue
				}
				d := define(file)
				if text := said[s.server]; text != nil {
					if err := d.Recall(text); err != nil {
						t.Fatal(err)
					}
				}
				merged, err := definition.Merge(d, h.held(), h.module)
				if err != nil {
					t.Fatal(err)
				}
				config := merged.Config.(v21.Config)
				h.config, h.module, said[s.server] = &config, &merged.Module, merged.Said()
				if j := h.job(); j.Shards != s.want || j.Settings["key"] != s.kept {
					t.Errorf("step %d: %d shards and %q", i, j.Shards, j.Settings["key"])
				}
				if keys := keysOf(merged.Disputed); !slices.Equal(keys, s.disputed) {
					t.Errorf("step %d: disputed %v", i, keys)
				}
				for _, x := range merged.Disputed {
					if x.Older != s.older {
						t.Errorf("step %d: %v", i, x)
					}
				}
			}
		})
	}
}

func TestRecallRefuses(t *testing.T) {
	t.Parallel()
	d := define(plainJob())
	for _, text := range []string{"", "x", `{"a":1}`, `{"a":{}}`, string(make([]byte, definition.MaxModule+1))} {
		if err := d.Recall([]byte(text)); err == nil || d.Recalled() {
			t.Errorf("%.20q was taken", text)
		}
	}
}
