package runner

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/workers"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

func TestTickRunsEveryItemOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", nil)
		<-s.Joined()
		time.Sleep(35 * time.Second)
		s.stop(t)
		if diff := cmp.Diff(map[trace.State]int{trace.Succeeded: 12}, rows.states()); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		rows.check(t, testJob, 4, 10*time.Second)
		r := rows.sorted()[0]
		if r.Run == "" || r.Attempt != 1 || r.Cause != trace.Schedule || r.Result != "item 0 of 4" || r.Fence == 0 ||
			r.TaskID != "nightly@-@0,1,2,3@-@READY@-@10.0.0.1@-@1" || r.Instance != "10.0.0.1@-@1" || r.End-r.Start != 1000 ||
			r.Fuel != 7 || r.Succeeded != 2 || r.Failed != 3 || r.Metrics != `{"rows":2.5}` {
			t.Errorf("row %+v", r)
		}
		if n := len(s.events); n != 24 {
			t.Errorf("%d events, want 24", n)
		}
		first := <-s.events
		if first.Kind != Start || first.State != trace.Running || first.Scheduled.UnixMilli() != r.Instant {
			t.Errorf("event %+v", first)
		}
		must(t, reg.Close())
	})
}

func TestServersShareAndTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		slow := func(o *Options) { o.Guests = takes(5 * time.Second) }
		a := serve(t, reg, rows, "10.0.0.1", slow)
		b := serve(t, reg, rows, "10.0.0.2", slow)
		time.Sleep(12 * time.Second) // in the middle of the first fire
		owners := map[job.InstanceID]int{}
		for _, it := range a.Status().Items {
			owners[it.Owner]++
		}
		if diff := cmp.Diff(map[job.InstanceID]int{"10.0.0.1@-@1": 2, "10.0.0.2@-@1": 2}, owners); diff != "" {
			t.Errorf("owners (-want +got):\n%s", diff)
		}
		must(t, b.kill())
		time.Sleep(20 * time.Second)
		b.stop(t) // its second member leaves
		time.Sleep(20 * time.Second)
		a.stop(t)
		got := rows.states()
		if got[trace.TakenOver] != 2 {
			t.Errorf("states %v, want 2 taken over", got)
		}
		for _, r := range rows.sorted() {
			if r.State == trace.TakenOver && r.Instance != "10.0.0.2@-@1" || r.Attempt == 2 && r.Cause != trace.Failover {
				t.Errorf("row %+v", r)
			}
		}
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, reg.Close())
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		runs time.Duration
		now  bool
		want map[trace.State]int
	}{
		{"guests finish", 10 * time.Second, false, map[trace.State]int{trace.Succeeded: 4}},
		{"guests are ended", time.Hour, false, map[trace.State]int{trace.Cancelled: 4}},
		{"guests are asked at once", time.Hour, true, map[trace.State]int{trace.Cancelled: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows := embedded.Memory(), &book{}
				s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Guests = takes(c.runs) })
				time.Sleep(15 * time.Second)
				began, wait := time.Now(), s.DrainTimeout
				if c.now {
					wait = 0
					s.now()
				}
				s.stop(t)
				if took := time.Since(began); took > wait+defaultGrace+leaveTimeout {
					t.Errorf("drained in %v", took)
				}
				if diff := cmp.Diff(c.want, rows.states()); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
				for _, r := range rows.sorted() {
					if r.State == trace.Cancelled && r.Reason.None() {
						t.Errorf("row %+v has no reason", r)
					}
				}
				must(t, reg.Close())
			})
		})
	}
}

func TestSinkThatFailsForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		rows.broken(errDisk)
		s := serve(t, reg, rows, "10.0.0.1", nil)
		time.Sleep(35 * time.Second)
		if got := s.Status().Troubles; len(got) != 1 {
			t.Errorf("troubles %q, want one", got)
		}
		rows.broken(nil)
		time.Sleep(20 * time.Second)
		if got := s.Status().Troubles; len(got) != 0 {
			t.Errorf("troubles %q, want none", got)
		}
		s.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		if got := rows.states()[trace.Succeeded]; got != 20 {
			t.Errorf("%d rows, want 20", got)
		}
		must(t, reg.Close())
	})
}

func TestSinkThatFailsToTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		rows.broken(errDisk)
		s := serve(t, reg, rows, "10.0.0.1", nil)
		time.Sleep(15 * time.Second)
		s.cancel()
		<-s.done
		if s.err == nil {
			t.Error("no error although rows are not stored")
		}
		rows.broken(nil)
		s = serve(t, reg, rows, "10.0.0.1", nil) // the next start finds them
		time.Sleep(5 * time.Second)
		s.stop(t)
		if got := rows.states()[trace.Succeeded]; got != 4 {
			t.Errorf("%d rows, want 4", got)
		}
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, reg.Close())
	})
}

func TestSessionEndsAndServerComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Guests = takes(4 * time.Second) })
		time.Sleep(12 * time.Second)
		must(t, s.kill())
		time.Sleep(30 * time.Second)
		if got := s.Status().Instance; got != "10.0.0.1@-@1-1" && got != "10.0.0.1@-@1" {
			t.Errorf("instance %s", got)
		}
		s.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		if got := rows.states(); got[trace.TakenOver] != 4 {
			t.Errorf("states %v, want 4 taken over", got)
		}
		must(t, reg.Close())
	})
}

func TestAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Config.Cron = "" })
		<-s.Joined()
		time.Sleep(time.Second)
		must(t, s.Ask(t.Context(), protocol.AskTrigger{}))
		time.Sleep(5 * time.Second)
		if diff := cmp.Diff(map[trace.State]int{trace.Succeeded: 4}, rows.states()); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		must(t, s.Ask(t.Context(), protocol.AskPause{Paused: true}))
		synctest.Wait() // the answer confirms the write, the next view shows it
		if !s.Status().Paused {
			t.Error("not paused")
		}
		must(t, s.Ask(t.Context(), protocol.AskItem{Item: 2, Disabled: true}))
		if err := s.Ask(t.Context(), protocol.AskItem{Item: 7, Disabled: true}); err == nil {
			t.Error("an item that is not there was disabled")
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Ask(gone, protocol.AskPause{}); err == nil {
			t.Error("an answer after the caller had gone")
		}
		s.stop(t)
		if err := s.Ask(t.Context(), protocol.AskTrigger{}); err == nil {
			t.Error("a trigger after the end")
		}
		must(t, reg.Close())
	})
}

// The server's own file, an operator's changes, and the configuration in force, over
// several starts of a server.
func TestFileAndRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		start := func(file func(*job.Config)) *server {
			s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { file(o.Config) })
			time.Sleep(2 * time.Second)
			return s
		}
		operate := func(s *server, change func(*v21.Config)) {
			v := s.snapshot.Load().view
			c, err := v21.DecodeConfig([]byte(v.Definition.Config.String()))
			must(t, err)
			change(c)
			data, err := v21.UpdateConfig([]byte(v.Definition.Config.String()), c)
			must(t, err)
			must(t, s.Ask(t.Context(), protocol.AskConfig{Config: spelling.Text(data), Have: v.ConfigVersion}))
			synctest.Wait()
		}
		expect := func(s *server, shards int, cron string, timeout time.Duration, troubles ...string) {
			t.Helper()
			got := s.Status()
			if got.Config.Shards != shards || got.Config.Cron != cron || got.Config.Timeout != timeout {
				t.Errorf("%d items, cron %q, timeout %v; want %d, %q, %v", got.Config.Shards, got.Config.Cron, got.Config.Timeout, shards, cron, timeout)
			}
			if len(got.Troubles) != len(troubles) || len(troubles) > 0 && !strings.Contains(got.Troubles[0].String(), troubles[0]) {
				t.Errorf("troubles %q, want %q", got.Troubles, troubles)
			}
		}

		first := func(*job.Config) {}
		s := start(first)
		expect(s, 4, "10s", 0)
		operate(s, func(c *v21.Config) { c.ShardingTotalCount = 3 })
		expect(s, 3, "10s", 0)
		s.stop(t)

		s = start(first) // the same file: the operator's change stays
		expect(s, 3, "10s", 0)
		s.stop(t)

		second := func(c *job.Config) { c.Cron, c.Timeout = "5s", time.Minute }
		s = start(second) // other keys of the file: both count
		expect(s, 3, "5s", time.Minute)
		s.stop(t)

		third := func(c *job.Config) { second(c); c.Shards = 2 }
		s = start(third) // a key that the operator has changed
		expect(s, 3, "5s", time.Minute, "shardingTotalCount")
		operate(s, func(c *v21.Config) { c.ShardingTotalCount = 2 })
		expect(s, 2, "5s", time.Minute)
		operate(s, func(c *v21.Config) { c.ShardingTotalCount = 3 })
		s.stop(t)

		s = start(func(c *job.Config) { third(c); c.Overwrite = true })
		expect(s, 2, "5s", time.Minute)
		s.stop(t)
		must(t, reg.Close())
	})
}

func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows, seen := embedded.Memory(), &book{}, &crowd{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Workers, o.Guests = workers.New(2), seen.of(o.Guests) })
		time.Sleep(15 * time.Second)
		s.stop(t)
		if most := seen.most; most != 2 {
			t.Errorf("%d guests at once, want 2", most)
		}
		if got := rows.states()[trace.Succeeded]; got != 4 {
			t.Errorf("%d rows, want 4", got)
		}
		must(t, reg.Close())
	})
}

func TestEndsOfGuests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Config.Timeout = 3 * time.Second
			o.Guests = guestFunc(func(ctx context.Context, c job.Call) job.Outcome {
				switch c.Item {
				case 0:
					return job.Outcome{Verdict: job.Failure, Code: 130, HasCode: true, Error: "no luck"}
				case 1:
					panic("a bug")
				case 2:
					return job.Outcome{Verdict: job.Nothing}
				}
				<-ctx.Done()
				if c.Why() != job.StopDeadline {
					t.Errorf("reason %v, want the deadline", c.Why())
				}
				return job.Outcome{Verdict: job.Stopped}
			})
		})
		time.Sleep(19 * time.Second)
		s.stop(t)
		want := map[trace.State]int{trace.Failed: 2, trace.Skipped: 1, trace.TimedOut: 1}
		if diff := cmp.Diff(want, rows.states()); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		for _, r := range rows.sorted() {
			if r.State == trace.Failed && r.Error == "" {
				t.Errorf("row %+v has no error", r)
			}
			if want := r.Item == 0; r.HasCode != want || want && r.Code != 130 {
				t.Errorf("item %d has code %d, %v; the guest of item 0 alone returned, 130", r.Item, r.Code, r.HasCode)
			}
		}
		must(t, reg.Close())
	})
}

func TestRowStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verdict job.Verdict
		asked   job.StopReason
		want    protocol.RowState
	}{
		{job.OK, job.Continue, protocol.Succeeded},
		{job.OK, job.StopShutdown, protocol.Succeeded},
		{job.OK, job.StopDeadline, protocol.TimedOut},
		{job.Nothing, job.Continue, protocol.Skipped},
		{job.Failure, job.Continue, protocol.Failed},
		{job.Retryable, job.Continue, protocol.Failed},
		{job.Failure, job.StopSessionLost, protocol.Cancelled},
		{job.Deadline, job.Continue, protocol.TimedOut},
		{job.Stopped, job.StopDeadline, protocol.TimedOut},
		{job.Stopped, job.Continue, protocol.Cancelled},
		{"nonsense", job.Continue, protocol.Failed},
	} {
		if got := rowStateOf(c.verdict, c.asked); got != c.want {
			t.Errorf("%s, asked %d: %s, want %s", c.verdict, c.asked, got, c.want)
		}
	}
}
