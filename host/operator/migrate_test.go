package operator

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/migration"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// putTree writes a job below a node of its own.
func putTree(t *testing.T, o *Operator, root string, nodes map[string]string) {
	t.Helper()
	put(t, o, registry.Create, "/jobs", "")
	for _, at := range slices.Sorted(maps.Keys(nodes)) {
		put(t, o, registry.Create, strings.TrimSuffix(root+"/"+at, "/"), nodes[at])
	}
}

// left1 is what members of layout 1 have left, with offsets that do not fit into one transaction.
func left1(t *testing.T) map[string]string {
	t.Helper()
	nodes := recorded.AtRest(t, recorded.Earlier(t, "ej1/sequence.json"), "at the end")
	for i := range 12 {
		nodes["offset/"+strconv.Itoa(i)] = strings.Repeat("x", 20<<10)
	}
	return nodes
}

const mostBytes = 200 << 10 // in a transaction

// isPart reports whether a transaction is a part of a migration, and is not too large.
func isPart(ops []registry.Op) bool {
	size, ofJob := 0, false
	for _, op := range ops {
		size += len(op.Data) + len(op.Path)
		ofJob = ofJob || strings.HasPrefix(op.Path, "/jobs/job/")
	}
	return ofJob && size < mostBytes*3/4
}

// dataOf is what the nodes of a job have.
func dataOf(t *testing.T, o *Operator) map[string]string {
	t.Helper()
	tree, err := o.wholeTree(t.Context(), "/jobs/job")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for at, n := range tree {
		all[at] = string(n.Data)
	}
	return all
}

// A migration that is cut at any of its transactions, before it or after it, is finished by the same command, and so
// is the way back.
func TestMigrationIsFinished(t *testing.T) {
	t.Parallel()
	nodes := left1(t)
	var whole map[string]string
	play := func(cut int, as registrytest.Outcome) (cuts bool) {
		n := 0
		plain := embedded.MemoryWith(embedded.Options{MaxCommit: mostBytes})
		reg := registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
			if !isPart(ops) {
				return registrytest.Pass
			}
			if n++; n != cut {
				return registrytest.Pass
			}
			cuts = true
			return as
		})
		setup, err := plain.Open(t.Context(), func(registry.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		writer := &Operator{session: setup}
		putTree(t, writer, "/jobs/job", nodes)
		before := dataOf(t, writer)
		for _, step := range []Move{{To: "3"}, {Back: true}, {To: "3"}} {
			o := operate(t, reg)
			r, err := o.Migrate(t.Context(), "job", step)
			if err != nil {
				if !cuts || !errors.Is(err, registry.ErrEnded) {
					t.Fatalf("cut at %d: %+v: %v", cut, step, err)
				}
				again := operate(t, reg)
				if r, err = again.Migrate(t.Context(), "job", step); err != nil && !errors.Is(err, migration.ErrNone) {
					t.Fatalf("cut at %d: %+v again: %v", cut, step, err)
				}
				o = again
			}
			switch is := dataOf(t, writer); {
			case step.Back:
				if d := cmp.Diff(before, is); d != "" {
					t.Fatalf("cut at %d: after the way back: %s", cut, d)
				}
			case whole == nil:
				whole = is
			default:
				if d := cmp.Diff(whole, is); d != "" || r == nil {
					t.Fatalf("cut at %d: %s", cut, d)
				}
			}
			if err := o.Close(); err != nil && !errors.Is(err, registry.ErrEnded) {
				t.Error(err)
			}
		}
		if err := errors.Join(setup.Close(), reg.Close()); err != nil {
			t.Error(err)
		}
		return cuts
	}
	play(0, registrytest.Pass)
	_, state := layout.New(job.Layout3, "jobs", "job").StateOf(11)
	if whole[""] != "recorder.Sequence" || !strings.HasPrefix(whole[strings.TrimPrefix(state, "/jobs/job/")], `{"v":1,"values":{"offset":"eHh4`) {
		t.Fatalf("it has no state: %v", slices.Sorted(maps.Keys(whole)))
	}
	for _, as := range []registrytest.Outcome{registrytest.EndBefore, registrytest.EndAfter, registrytest.LoseReply, registrytest.LoseRequest, registrytest.Delay} {
		cut := 1
		for play(cut, as) {
			cut++
		}
		if cut < 7 {
			t.Errorf("only %d transactions were cut", cut-1)
		}
	}
}

// While a job is moved, and until then, a server of ours that has it in its file says which layout it has. Then it
// runs the job, from where its members had left it: what they had begun does not begin again, and what was missed
// has a row.
func TestMigratedJobGoesOn(t *testing.T) {
	t.Parallel()
	for from, file := range map[string]string{"1": "ej1/pause.json", "2.0": "ej20/pause.json"} {
		for _, to := range []string{"2.1", "3"} {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				nodes := recorded.AtRest(t, recorded.Earlier(t, file), "at the end")
				synctest.Test(t, func(t *testing.T) {
					goesOn(t, from, to, nodes, func(d time.Duration) { time.Sleep(d) })
				})
			})
		}
	}
}

func goesOn(t *testing.T, from, to string, nodes map[string]string, wait func(time.Duration)) {
	t.Helper()
	reg, rows := embedded.Memory(), &pile{}
	o := operate(t, reg)
	begin := time.Now().Truncate(time.Minute)
	wait(10 * time.Minute)
	last := []time.Time{begin.Add(10*time.Minute - 59*time.Second), begin.Add(9 * time.Minute), begin.Add(9 * time.Minute), begin.Add(5 * time.Minute)}
	for at, data := range nodes {
		nodes[at] = strings.ReplaceAll(data, "0/10 * * * * ?", "0 * * * * ?")
		if name := path.Base(at); name == "lastBeginTime" || name == "lastCompleteTime" {
			item, _ := strconv.Atoi(path.Base(path.Dir(at)))
			nodes[at] = strconv.FormatInt(last[item].UnixMilli(), 10)
		}
	}
	putTree(t, o, "/jobs/job", nodes)
	h, stop := start(t, host.Options{
		Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Runner: host.Func(fine), Sinks: []trace.Sink{rows},
		Jobs: []job.Config{{Name: "job", Class: "recorder.Work", Cron: "0 * * * * ?", Shards: 4, Layout: to, TimeZone: "UTC", MaxClockSkew: -1, Misfire: true, MonitorExecution: true}},
	})
	wait(2*time.Minute + 30*time.Second) // 12:30
	refused := h.Jobs()[0]
	if refused.Instance != "" || !slices.ContainsFunc(refused.Troubles, func(r reason.Reason) bool { return strings.Contains(r.String(), "this is a job of layout 1 or 2.0") }) {
		t.Errorf("before, it says %+v", refused)
	}
	if len(rows.rows) > 0 {
		t.Errorf("before, it ran %+v", rows.rows)
	}
	dry, err := o.Migrate(t.Context(), "job", Move{To: to, DryRun: true})
	if err != nil || dry.From != from || len(dry.Writes) < 10 || !dry.DryRun {
		t.Fatalf("%+v, %v", dry, err)
	}
	if r, err := o.Job(t.Context(), "job"); err != nil || len(r.Members) > 0 {
		t.Errorf("after a dry run: %+v, %v", r, err)
	}
	r, err := o.Migrate(t.Context(), "job", Move{To: to})
	if err != nil || !slices.Equal(r.Writes, dry.Writes) {
		t.Fatalf("%+v, %v", r, err)
	}
	wait(20 * time.Second) // 12:50
	if n := rows.count("job", trace.Succeeded); n != 0 {
		t.Errorf("%d runs before the next instant", n)
	}
	wait(time.Minute) // 13:50
	if is := h.Jobs()[0]; is.Instance == "" {
		t.Fatalf("it has not joined: %+v", is)
	}
	next := begin.Add(13 * time.Minute).UnixMilli()
	missed := map[int]string{}
	for _, row := range rows.rows {
		if row.State == trace.Missed {
			missed[row.Item] = fmt.Sprintf("%d from %d to %d", row.Count, (row.Instant-begin.UnixMilli())/60e3, (row.Last-begin.UnixMilli())/60e3)
		} else if row.Instant != next || row.State != trace.Succeeded {
			t.Errorf("%+v", row)
		}
	}
	want := map[int]string{0: "3 from 10 to 12", 1: "3 from 10 to 12", 2: "3 from 10 to 12", 3: "7 from 6 to 12"}
	if d := cmp.Diff(want, missed); d != "" || rows.count("job", trace.Succeeded) != 4 {
		t.Errorf("%d ran, and missed: %s", rows.count("job", trace.Succeeded), d)
	}
	report, err := o.Job(t.Context(), "job")
	if err != nil || report.Paused || !slices.ContainsFunc(report.Servers, func(s ServerState) bool { return s.IP == "10.0.0.2" && s.Disabled }) {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := o.Migrate(t.Context(), "job", Move{Back: true}); err == nil || !strings.Contains(err.Error(), "a member has joined it since the migration, so it stays") {
		t.Errorf("back: %v", err)
	}
	if r, err := o.Migrate(t.Context(), "job", Move{To: to}); err != nil || len(r.Writes) == 0 || r.Done != "" {
		t.Errorf("the rest: %+v, %v", r, err)
	}
	if r, err := o.Migrate(t.Context(), "job", Move{To: to}); err != nil || r.Done != "it is of layout "+to+" already" {
		t.Errorf("once more: %+v, %v", r, err)
	}
	if err := errors.Join(stop(), o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// What cannot be migrated is left as it is, with a reason.
func TestMigrationsThatAreRefused(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	_, err := o.Migrate(t.Context(), "job", Move{To: "3"})
	wantCode(t, "no job", err, host.NotFound)
	javatest.Write(t, o.session, javatest.Config(nil)) // with a member
	for want, m := range map[string]Move{
		"it is not at rest: sessions hold instances/" + javatest.Member + ", ": {To: "3"},
		"not to \"4\"":            {To: "4"},
		migration.ErrNone.Error(): {Back: true},
	} {
		_, err := o.Migrate(t.Context(), javatest.Name, m)
		if wantCode(t, want, err, host.Refused); !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
