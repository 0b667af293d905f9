package runner

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// A strategy module is used only while the job has no foreign member, since those do not
// know it.
func TestStrategyModuleWithForeignMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		asked := make(chan job.Config, 100)
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Config.Class, o.Config.TimeZone, o.Config.StrategyModule = "com.example.Job", "UTC", "near"
			o.Assigner = assignFunc(func(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error) {
				asked <- c
				return assignAverage{}.Assign(ctx, c, r)
			})
		})
		<-s.Joined()
		if c := <-asked; c.StrategyModule != "near" {
			t.Errorf("alone, the strategy %+v is asked", c.StrategyModule)
		}
		java, err := reg.Open(t.Context(), func(registry.Event) {})
		must(t, err)
		_, err = java.Commit(t.Context(), registry.Op{Kind: registry.CreateEphemeral, Path: layout.NewJob("test", testJob).Instance("10.0.0.2@-@7")})
		must(t, err)
		if c := <-asked; c.StrategyModule != "" {
			t.Errorf("beside Java, the strategy %+v is asked", c.StrategyModule)
		}
		synctest.Wait()
		if text := reason.Words(s.Status().Troubles, "\n"); !strings.Contains(text, `do not know the strategy module "near": it is refused`) || s.Status().Instance == "" {
			t.Errorf("%q, instance %q", text, s.Status().Instance)
		}
		must(t, java.Close())
		if c := <-asked; c.StrategyModule != "near" {
			t.Errorf("alone again, the strategy %+v is asked", c.StrategyModule)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}

// Runs on a server that must leave the job end as usual and lose nothing. No other run
// begins until the cause is gone.
func TestRunsOfWhoMustGoEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Config.Class, o.Config.TimeZone, o.Guests = "com.example.Job", "UTC", takes(7*time.Second)
		})
		<-s.Joined()
		synctest.Wait()
		tool, err := reg.Open(t.Context(), func(registry.Event) {})
		must(t, err)
		at, _, _ := s.Layout.Nodes()
		text := s.snapshot.Load().view.Definition.Config.String()
		write := func(by registry.Session, text string, more ...registry.Op) {
			_, err := by.Commit(t.Context(), append(more, registry.Op{Kind: registry.Set, Path: at, Data: []byte(text), Version: registry.AnyVersion})...)
			must(t, err)
		}
		java, err := reg.Open(t.Context(), func(registry.Event) {})
		must(t, err)
		time.Sleep(time.Until(time.Now().Truncate(10 * time.Second).Add(12 * time.Second))) // all items run
		write(java, strings.Replace(text, "com.example.Job", "com.example.Other", 1), registry.Op{Kind: registry.CreateEphemeral, Path: s.Layout.Instance("10.0.0.2@-@7")})
		time.Sleep(30 * time.Second)
		must(t, java.Close())
		time.Sleep(30 * time.Second)
		if st := s.Status(); st.Instance != "" || len(st.Instances) != 0 || len(st.Troubles) != 1 {
			t.Errorf("it has not left, or came back: %+v", st)
		}
		if n := rows.states()["succeeded"]; n != 4 {
			t.Errorf("%d runs have ended well: %v", n, rows.states())
		}
		write(tool, text)
		time.Sleep(25 * time.Second)
		if st := s.Status(); st.Instance == "" || len(st.Troubles) != 0 {
			t.Errorf("it has not come back: %+v", st)
		}
		s.stop(t)
		if n := rows.states()["succeeded"]; n < 8 {
			t.Errorf("%d runs have ended well: %v", n, rows.states())
		}
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, tool.Close())
		must(t, reg.Close())
	})
}

// An operator writes another class while the job has no foreign member. Members stay, as
// foreign ones do, also in the next session. A server that starts joins if its file
// stands for the class that the job had, even after all servers were restarted. It leaves
// when a foreign member comes, and does not join while there is one.
func TestMembersStayWhateverTheClass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		file := func(o *Options) { o.Config.Class, o.Config.TimeZone = "com.example.Job", "UTC" }
		s := serve(t, reg, rows, "10.0.0.1", file)
		<-s.Joined()
		time.Sleep(15 * time.Second)
		tool, err := reg.Open(t.Context(), func(registry.Event) {})
		must(t, err)
		at, _, _ := s.Layout.Nodes()
		text := strings.Replace(s.snapshot.Load().view.Definition.Config.String(), "com.example.Job", "com.example.Other", 1)
		_, err = tool.Commit(t.Context(), registry.Op{Kind: registry.Set, Path: at, Data: []byte(text), Version: registry.AnyVersion})
		must(t, err)
		for _, then := range []string{"the class has changed", "its session has ended"} {
			time.Sleep(time.Minute)
			if st := s.Status(); st.Instance == "" || !strings.Contains(reason.Words(st.Troubles, "\n"), "the job goes on here as long as no member of ElasticJob joins it") {
				t.Errorf("%s: %+v", then, st)
			}
			if then == "the class has changed" {
				must(t, s.kill())
			}
		}
		in := func(when string, s *server, is bool) {
			time.Sleep(time.Minute)
			if st := s.Status(); (st.Instance != "") != is || !strings.Contains(reason.Words(st.Troubles, "\n"), `its class in the registry is "com.example.Other"`) {
				t.Errorf("%s: %+v", when, st)
			}
		}
		third := serve(t, reg, rows, "10.0.0.3", func(o *Options) { o.Config.Class, o.Config.TimeZone = "com.example.Mine", "UTC" })
		in("one of a third class", third, false)
		third.stop(t)
		s.stop(t)
		late := serve(t, reg, rows, "10.0.0.4", file)
		in("one that starts when all have stopped", late, true)
		rows.check(t, testJob, 4, 10*time.Second)
		java, err := reg.Open(t.Context(), func(registry.Event) {})
		must(t, err)
		_, err = java.Commit(t.Context(), registry.Op{Kind: registry.CreateEphemeral, Path: s.Layout.Instance("10.0.0.2@-@7")})
		must(t, err)
		in("a member of ElasticJob comes", late, false)
		late.stop(t)
		later := serve(t, reg, rows, "10.0.0.5", file)
		in("one that starts beside it", later, false)
		later.stop(t)
		must(t, java.Close())
		must(t, tool.Close())
		must(t, reg.Close())
	})
}

// While a node of the job cannot be read, no run begins. If there are foreign members,
// which assign items regardless, the server leaves the job.
func TestUnreadableNodeWithForeignMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Config.TimeZone = "UTC" })
		<-s.Joined()
		synctest.Wait()
		java, err := reg.Open(t.Context(), func(registry.Event) {})
		must(t, err)
		_, at, _ := s.Layout.Nodes()
		text := []byte(s.snapshot.Load().view.Definition.Module.String())
		write := func(text []byte) {
			_, err := java.Commit(t.Context(), registry.Op{Kind: registry.Set, Path: at, Data: text, Version: registry.AnyVersion})
			must(t, err)
			time.Sleep(time.Minute)
		}
		write([]byte(`{"v":9}`))
		if s.Status().Instance == "" {
			t.Error("it has left a job that nobody else runs")
		}
		_, err = java.Commit(t.Context(), registry.Op{Kind: registry.CreateEphemeral, Path: s.Layout.Instance("10.0.0.2@-@7")})
		must(t, err)
		time.Sleep(time.Minute)
		if st := s.Status(); st.Instance != "" || len(st.Troubles) != 1 || !strings.Contains(st.Troubles[0].String(), "version 9 is not known") {
			t.Errorf("it is still there: %+v", st)
		}
		write(text)
		if st := s.Status(); st.Instance == "" || len(st.Troubles) != 0 {
			t.Errorf("it has not come back: %+v", st)
		}
		s.stop(t)
		must(t, java.Close())
		must(t, reg.Close())
	})
}

// The core receives settings before the view that contains them. A decision in between is
// based on the older view, and is refused if the same change touched anything else: here,
// what the other members had accounted for when they left.
func TestSettingsComeWithAnotherChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		s := serve(t, reg, &book{}, "10.0.0.1", func(o *Options) { o.Config.TimeZone = "UTC" })
		<-s.Joined()
		time.Sleep(15 * time.Second) // every run has begun and ended
		tool, err := reg.Open(t.Context(), func(registry.Event) {})
		must(t, err)
		v := s.snapshot.Load().view
		theirs := v.Assignment
		theirs.Last = []int64{0, 0, 0, 0, time.Now().UnixMilli()}
		config, _, _ := s.Layout.Nodes()
		ops := s.Layout.Encode(protocol.Reshard{Next: theirs}, v)
		assigned := ops[slices.IndexFunc(ops, func(op registry.Op) bool { return op.Kind == registry.Set })]
		text := strings.Replace(v.Definition.Config.String(), v21.WasmClass, "com.example.Other", 1)
		_, err = tool.Commit(t.Context(), assigned, registry.Op{Kind: registry.Set, Path: config, Data: []byte(text), Version: registry.AnyVersion},
			registry.Op{Kind: registry.CreateEphemeral, Path: s.Layout.Instance("10.0.0.2@-@7")})
		must(t, err)
		time.Sleep(5 * time.Second)
		if st := s.Status(); st.Instance != "" {
			t.Errorf("it has not left: %+v", st)
		}
		n, err := tool.Read(t.Context(), assigned.Path)
		must(t, err)
		left := s.Layout.NewDecoder(nil)
		left.Apply(assigned.Path, n)
		if got := left.View().Assignment.Last; len(got) != 5 || got[0] == 0 || got[4] != theirs.Last[4] {
			t.Errorf("accounted for: %v, want what the member had, and behind it %d", got, theirs.Last[4])
		}
		s.stop(t)
		must(t, tool.Close())
		must(t, reg.Close())
	})
}
