package status

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

func TestStateOfAJob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*protocol.View)
		state  string
		faults []reason.Reason
	}{
		{"all is well", func(*protocol.View) {}, Idle, nil},
		{"a run is open", func(v *protocol.View) { v.Runs[0].Open = []protocol.Entry{{Item: 1}} }, Running, nil},
		{"the items are handed out", func(v *protocol.View) { v.Processing = true }, Resharding, nil},
		{"paused, and running", func(v *protocol.View) { v.Paused, v.Runs[0].Open = true, []protocol.Entry{{Item: 1}} }, Paused, nil},
		{"nobody leads", func(v *protocol.View) { v.Leader = "" }, Idle, []reason.Reason{reason.Of(reason.NobodyLeads)}},
		{"an operator disabled all servers", func(v *protocol.View) {
			v.Leader, v.Servers = "", []protocol.Server{{IP: "10.0.0.1", Disabled: true}, {IP: "10.0.0.2", Disabled: true}, {IP: "10.0.0.3", Disabled: true}}
		}, Disabled, nil},
		{"no server", func(v *protocol.View) { v.Leader, v.Instances, v.Members, v.Runs = "", nil, nil, nil }, Down, []reason.Reason{reason.Of(reason.NoServer)}},
		{"a record is left", func(v *protocol.View) { v.Instances, v.Members = v.Instances[:1], v.Members[:1] }, Idle, []reason.Reason{reason.Of(reason.NotTakenOver, string(other))}},
		{"the last one has left", func(v *protocol.View) { v.Leader, v.Instances, v.Members = "", nil, nil }, Down, []reason.Reason{reason.Of(reason.NoServer)}},
		{"the last one has died", func(v *protocol.View) {
			v.Leader, v.Instances, v.Members, v.Runs[0].Open = "", nil, nil, []protocol.Entry{{Item: 1}}
		}, Down, []reason.Reason{reason.Of(reason.NoServer), reason.Of(reason.NotTakenOver, string(me))}},
		{"the last one was shut down, and its run goes on", func(v *protocol.View) {
			v.Leader, v.Instances, v.Members, v.Runs[0].Open = "", nil, v.Members[:1], []protocol.Entry{{Item: 1}}
		}, Running, nil},
		{"no configuration", func(v *protocol.View) { v.Config = nil }, Unreadable, []reason.Reason{reason.Of(reason.ConfigGone)}},
		{"a reshard has just become due", func(v *protocol.View) { v.Necessary, v.NecessaryAt = true, 10_000 }, Resharding, nil},
		{"a reshard is overdue", func(v *protocol.View) { v.Necessary, v.NecessaryAt = true, 9_999 }, Resharding, []reason.Reason{reason.Of(reason.ReshardOverdue, "30")}},
		{"a foreign leader is slow", func(v *protocol.View) { v.Necessary, v.NecessaryAt, v.Leader = true, 9_999, java }, Resharding, nil},
		{"a bad configuration", func(v *protocol.View) { v.ConfigFault = "bad" }, Unreadable, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := whole()
			v.Config = &protocol.Config{Total: 2}
			tt.change(v)
			j := Of(v, 40_000)
			if diff := cmp.Diff(tt.faults, j.Faults); j.State != tt.state || diff != "" {
				t.Errorf("%s, want %s\n%s", j.State, tt.state, diff)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	v := whole()
	v.Assignment = protocol.Assignment{Exists: true, Total: 2, Owners: []protocol.ID{me, me}}
	v.Runs[0].Open = []protocol.Entry{{Item: 1}}
	v.Instances[1].Request, v.Members[1].Labels = 1, map[string]string{"zone": "a"}
	v.Servers[1].Disabled = true
	want := []Member{
		{ID: me, Items: 2, Running: 1},
		{ID: other, Labels: map[string]string{"zone": "a"}, Disabled: true, Asked: true},
		{ID: java, Foreign: true},
	}
	if diff := cmp.Diff(want, Of(v, 0).Members); diff != "" {
		t.Error(diff)
	}
	v.Instances = v.Instances[1:]
	if diff := cmp.Diff(want[:1], Of(v, 0).Leaving); diff != "" {
		t.Error(diff)
	}
	v.Instances = slices.Insert(v.Instances, 0, protocol.Instance{ID: me})
	v.Assignment, v.Items[0].Owner = protocol.Assignment{}, java
	if got := Of(v, 0).Members[2].Items; got != 1 {
		t.Errorf("a job of ElasticJob's alone: %d items", got)
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	v := &protocol.View{
		Config: &protocol.Config{Total: 6},
		Items: []protocol.Item{
			{Exists: true, Owner: me}, {Exists: true, Owner: me, Running: 7}, {Exists: true, Owner: me}, {Exists: true, Disabled: true},
			{Exists: true}, {}, {Exists: true}, {Exists: true, Owner: other, Failover: me},
		},
		Assignment: protocol.Assignment{Exists: true, Total: 6},
		Runs: []protocol.Runs{{ID: other, RunsData: &protocol.RunsData{
			Open: []protocol.Entry{{Item: 0, Instant: 10, Attempt: 2}}, Retries: []protocol.Retry{{Entry: protocol.Entry{Item: 3}, After: 50}},
		}}},
		Pending: []protocol.Pending{{Item: 2, Entry: protocol.Entry{Item: 2, Instant: 9}, Dead: "gone"}},
	}
	want := []Item{
		{Item: 0, State: Running, Owner: me, Running: true, Runner: other, Run: protocol.Entry{Item: 0, Instant: 10, Attempt: 2}},
		{Item: 1, State: Running, Owner: me, Running: true, Runner: me},
		{Item: 2, State: Pending, Owner: me, Pending: true, Run: protocol.Entry{Item: 2, Instant: 9}},
		{Item: 3, State: Disabled, Disabled: true, Retry: 50},
		{Item: 4, State: Unassigned},
		{Item: 7, State: Running, Owner: other, TakenBy: me, Runner: me},
	}
	if diff := cmp.Diff(want, Items(v)); diff != "" {
		t.Error(diff)
	}
}

// Last is the newest instant of an item. In a job without a schedule the assignment has
// the time of the first assignment there, which Items leaves out.
func TestItemsOfAManualJobHaveNoInstant(t *testing.T) {
	t.Parallel()
	v := &protocol.View{
		Config: &protocol.Config{Total: 1, Cron: "0 0 2 * * ?"}, Items: []protocol.Item{{Exists: true, Owner: me}},
		Assignment: protocol.Assignment{Exists: true, Total: 1, Last: []int64{7_200_000}},
	}
	if got := Items(v)[0].Last; got != 7_200_000 {
		t.Errorf("the last instant is %d", got)
	}
	v.Config.Cron = ""
	if got := Items(v)[0].Last; got != 0 {
		t.Errorf("the last instant of a manual job is %d", got)
	}
}
