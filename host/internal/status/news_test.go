package status

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

const me, other, java = protocol.ID("10.0.0.1@-@1"), protocol.ID("10.0.0.2@-@1"), protocol.ID("10.0.0.3@-@1")

// whole returns a view of a job with two of our members and a foreign one.
func whole() *protocol.View {
	return &protocol.View{
		Leader: other, Definition: protocol.Definition{Config: text("{}")},
		Instances: []protocol.Instance{{ID: me}, {ID: other}, {ID: java}},
		Members:   []protocol.Member{{ID: me}, {ID: other}},
		Runs:      []protocol.Runs{{ID: me, RunsData: &protocol.RunsData{}}, {ID: other, RunsData: &protocol.RunsData{}}},
		Items:     []protocol.Item{{Exists: true}, {Exists: true}},
		Servers:   []protocol.Server{{IP: "10.0.0.1"}, {IP: "10.0.0.2"}},
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	leaves := func(v *protocol.View) {
		v.Instances, v.Members = slices.Delete(v.Instances, 1, 2), slices.Delete(v.Members, 1, 2)
	}
	for _, tt := range []struct {
		name   string
		change func(*protocol.View)
		want   []News
	}{
		{"nothing", func(*protocol.View) {}, nil},
		{"one of ours dies", leaves, []News{{reason.Of(reason.MemberGone, string(other)), true}}},
		{"one of ours dies, and its run waits", func(v *protocol.View) {
			leaves(v)
			v.Runs, v.Pending = v.Runs[:1], []protocol.Pending{{Dead: other}}
		}, []News{{reason.Of(reason.MemberGone, string(other)), true}}},
		{"one of ours leaves in order", func(v *protocol.View) {
			leaves(v)
			v.Runs = v.Runs[:1]
		}, nil},
		{"one of ElasticJob goes", func(v *protocol.View) { v.Instances = v.Instances[:2] }, []News{{Why: reason.Of(reason.ForeignGone, string(java))}}},
		{"nobody leads for a moment", func(v *protocol.View) { v.Leader = "" }, nil},
		{"this server leads", func(v *protocol.View) { v.Leader = me }, []News{{Why: reason.Of(reason.LeaderChanged, string(me))}}},
		{"an operator pauses", func(v *protocol.View) { v.Paused, v.Pause = true, protocol.Pause{Until: 1000, Why: "deploy"} }, []News{
			{Why: reason.Of(reason.OperatorPaused, "1970-01-01T00:00:01Z", "deploy")},
		}},
		{"an item is disabled", func(v *protocol.View) { v.Items[1].Disabled = true }, []News{{Why: reason.Of(reason.OperatorDisabledItem, "1")}}},
		{"an item comes, disabled", func(v *protocol.View) { v.Items = append(v.Items, protocol.Item{Exists: true, Disabled: true}) }, nil},
		{"a server is disabled", func(v *protocol.View) { v.Servers[1].Disabled = true }, []News{{Why: reason.Of(reason.OperatorDisabledServer, "10.0.0.2")}}},
		{"a trigger comes", func(v *protocol.View) { v.Instances[0].Request = 1 }, []News{{Why: reason.Of(reason.OperatorTriggered)}}},
		{"a trigger comes to another", func(v *protocol.View) { v.Instances[1].Request = 1 }, nil},
		{"the configuration changes", func(v *protocol.View) { v.Definition.Config = text("{ }") }, []News{{Why: reason.Of(reason.ConfigChanged)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := whole()
			tt.change(is)
			if diff := cmp.Diff(tt.want, Between(whole(), is, me)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsTakenBack(t *testing.T) {
	t.Parallel()
	was := whole()
	was.Paused, was.Items[0].Disabled, was.Servers[0].Disabled, was.Instances[0].Request = true, true, true, 1
	want := []News{{Why: reason.Of(reason.OperatorResumed)}, {Why: reason.Of(reason.OperatorEnabledItem, "0")}, {Why: reason.Of(reason.OperatorEnabledServer, "10.0.0.1")}}
	if diff := cmp.Diff(want, Between(was, whole(), me)); diff != "" {
		t.Error(diff)
	}
}

// A change of a pause is reported even if the earlier pause has ended by itself.
func TestPauseSaidAnew(t *testing.T) {
	t.Parallel()
	was, is := whole(), whole()
	was.Paused, was.Pause = true, protocol.Pause{Until: 1000}
	is.Paused = true
	want := []News{{Why: reason.Of(reason.OperatorPaused, "", "")}}
	if diff := cmp.Diff(want, Between(was, is, me)); diff != "" {
		t.Error(diff)
	}
	if all := Between(was, was, me); len(all) > 0 {
		t.Error(all)
	}
}

// text is the configuration of a test's layout.
type text string

func (t text) Same(as protocol.Spelled) bool { return t == as }
func (t text) String() string                { return string(t) }
