package job

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

func TestTaskIDVectors(t *testing.T) {
	t.Parallel()
	for _, v := range recorded.Vectors[vector](t, "itemparams/taskid.jsonl") {
		switch v.Op {
		case "taskid":
			got, err := NewTaskID(v.Job, v.Items, InstanceID(v.Instance))
			if !refusal(t, v, err) && (v.Want.TaskID == nil || got.String() != *v.Want.TaskID) {
				t.Errorf("%s: got %q, want %+v", v.ID, got, v.Want)
			}
		case "taskparse":
			got, err := ParseTaskID(v.S)
			if refusal(t, v, err) {
				continue
			}
			sameMeta(t, v, got.Meta)
			if got.Type != text(v.Want.Type) || got.Instance.IP() != text(v.Want.SlaveID) || got.Name() != text(v.Want.TaskName) {
				t.Errorf("%s: got %+v, want %+v", v.ID, got, v.Want)
			}
		case "metaparse":
			got, err := ParseMeta(v.S)
			if !refusal(t, v, err) {
				sameMeta(t, v, got)
			}
		default:
			t.Errorf("%s: unknown op %q", v.ID, v.Op)
		}
	}
}

func sameMeta(t *testing.T, v vector, got Meta) {
	t.Helper()
	if got.Job != text(v.Want.JobName) || !slices.Equal(got.Items, v.Want.Items) || v.Want.Items == nil || got.String() != text(v.Want.Meta) {
		t.Errorf("%s: %q: got %+v, want %+v", v.ID, v.S, got, v.Want)
	}
}

// text returns a recorded text, or one that no answer equals.
func text(s *string) string {
	if s == nil {
		return "(not recorded)"
	}
	return *s
}

func TestInstanceVectors(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, v := range recorded.Vectors[vector](t, "strategy/factory.jsonl") {
		if v.Op != "ip" {
			continue // of a strategy
		}
		seen++
		id := InstanceID(v.S)
		got, _, err := id.Split()
		if !refusal(t, v, err) && (got != text(v.Want.IP) || id.IP() != got) {
			t.Errorf("%s: got %q, want %+v", v.ID, got, v.Want)
		}
	}
	if seen < 4 {
		t.Errorf("%d instance ids, want at least 4", seen)
	}
}

func TestInstanceIDs(t *testing.T) {
	t.Parallel()
	id := NewInstanceID("10.0.0.1", "77-1")
	if id != "10.0.0.1@-@77-1" || id.IP() != "10.0.0.1" || id.Validate() != nil {
		t.Errorf("got %q, %v", id, id.Validate())
	}
	for _, bad := range []InstanceID{"", "10.0.0.1", "@-@1", "10.0.0.1@-@", "a@-@b@-@c", "a/b@-@1", ".@-@1", "..@-@1", "a\x00@-@1", "a\xff@-@1"} {
		if bad.Validate() == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, err := NewTaskID("", nil, id); err == nil {
		t.Error("a task without a job is accepted")
	}
	if got, _ := NewTaskID("j", []int{1}, ""); got.String() != "j@-@1@-@READY@-@127.0.0.1@-@1" {
		t.Errorf("without an instance: %q", got)
	}
}

// Cases that the recordings lack, tried later in ElasticJob-Lite 2.1.5.
func TestItemsOfTaskIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{"": {}, "0": {0}, "1,1": {1, 1}, "2,+1,-0": {2, 1, 0}} {
		got, err := ParseTaskID("j@-@" + text + "@-@READY@-@10.0.0.1@-@1")
		if err != nil || !slices.Equal(got.Items, want) {
			t.Errorf("%q: got %v, %v", text, got.Items, err)
		}
	}
	for _, text := range []string{",", "0,", ",0", "0,,1", "0, 1", "2147483648"} {
		if got, err := ParseTaskID("j@-@" + text + "@-@READY@-@10.0.0.1@-@1"); err == nil {
			t.Errorf("%q: got %v", text, got.Items)
		}
	}
}

func FuzzParseTaskID(f *testing.F) {
	for _, s := range []string{"", "j@-@0,1@-@READY@-@10.0.0.1@-@1", "j@-@@-@FAILOVER@-@@-@c", "@-@@-@READY@-@a@-@b", "a@@-@1@-@READY@-@-@@-@@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseTaskID(s)
		if err != nil {
			if len(err.Error()) > 3000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		back, err := ParseTaskID(id.String())
		if err != nil || back.String() != id.String() {
			t.Errorf("%q → %q → %q, %v", s, id, back, err)
		}
		if meta, err := ParseMeta(s); err != nil || meta.String() != id.Meta.String() {
			t.Errorf("%q: meta %q, %v", s, meta, err)
		}
	})
}
