package runner

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// cutOff cuts a server off for longer than its session lasts, while it runs its items,
// alone or with another server. The server may end before it is connected again. cutOff
// returns the rows of each server about those runs.
func cutOff(t *testing.T, cron string, alone, ends bool) (own, others []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		reg, rows, there := embedded.Memory(), &book{}, &book{}
		long := func(o *Options) { o.Guests, o.Config.Cron, o.Config.Shards = takes(4*time.Minute), cron, 2 }
		every, err := time.ParseDuration(cron)
		must(t, err)
		time.Sleep(time.Until(time.Now().Truncate(every).Add(every - 5*time.Second)))
		instant := time.Now().Add(5 * time.Second)
		n := newNetwork(reg, 18*time.Second, rand.New(rand.NewPCG(1, 2)))
		n.ended = func(*remote) {}
		servers := []*server{serve(t, n, rows, "10.0.0.1", long)}
		if !alone {
			servers = append(servers, serve(t, reg, there, "10.0.0.2", long))
		}
		time.Sleep(8 * time.Second)
		n.change(func(n *network) { n.cut = true })
		time.Sleep(50 * time.Second)
		if ends {
			servers[0].now()
			<-servers[0].done
			servers = servers[1:]
		}
		n.sound()
		time.Sleep(40 * time.Second)
		for _, s := range servers {
			s.stop(t)
		}
		must(t, reg.Close())
		both := &book{}
		for r, err := range trace.Merge(rows.all(), there.all()) {
			must(t, err)
			both.rows = append(both.rows, r)
		}
		if !alone || !ends { // otherwise no server writes the result of the runs
			both.check(t, testJob, 2, every)
		}
		own, others = rows.of("10.0.0.1@-@1", instant), there.of("10.0.0.1@-@1", instant)
	})
	return own, others
}

// all returns the rows in the form of a history.
func (b *book) all() iter.Seq2[trace.Row, error] {
	return func(yield func(trace.Row, error) bool) {
		for _, r := range b.sorted() {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// of returns how the first attempts of a member at an instant ended, and how long they
// took.
func (b *book) of(member string, instant time.Time) []string {
	var all []string
	for _, r := range b.sorted() {
		if r.Count > 0 || r.Instant != instant.UnixMilli() || r.Attempt != 1 || r.Instance != member {
			continue
		}
		took := "unknown"
		if r.End != 0 {
			took = (time.Duration(r.End-r.Start) * time.Millisecond).Round(time.Second).String()
		}
		all = append(all, fmt.Sprintf("%s %s, for %s", r.State, r.Reason.Code, took))
	}
	return all
}

// No row says that a server died if it has outlived its session. The duration of its runs
// lasts until it ended them, or is absent.
func TestRowsOfAServerThatLostTheRegistry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, cron  string
		alone, ends bool
		own, others []string
	}{
		// The server was cut off three seconds after the begin, and asked its guests to
		// stop nine seconds after the registry's last answer.
		{"alone, and runs it again", "10m", true, false, slices.Repeat([]string{"taken_over registry_lost, for 11s"}, 2), nil},
		{"alone, and the next instant has come", "10s", true, false, slices.Repeat([]string{"interrupted registry_lost_next_instant, for 11s"}, 2), nil},
		// The other server writes the result of the run; only this one knows how long it
		// lasted here.
		{"another runs it again", "10m", false, false, []string{"taken_over registry_lost, for 11s"}, []string{"taken_over server_gone, for unknown"}},
		{"another is there, and the next instant has come", "10s", false, false, []string{"taken_over registry_lost, for 11s"}, []string{"interrupted server_gone_next_instant, for unknown"}},
		// It does not know whether another server goes on with the run.
		{"alone, and ends before it hears of the registry", "10m", true, true, slices.Repeat([]string{"taken_over registry_lost, for 11s"}, 2), nil},
		{"ends before it hears of the registry", "10m", false, true, []string{"taken_over registry_lost, for 11s"}, []string{"taken_over server_gone, for unknown"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			own, others := cutOff(t, tt.cron, tt.alone, tt.ends)
			if diff := cmp.Diff(tt.own, own); diff != "" {
				t.Errorf("its own rows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.others, others); diff != "" {
				t.Errorf("rows of the other server (-want +got):\n%s", diff)
			}
		})
	}
}

// An earlier process with the same id counts as another server.
func TestRowsOfAServerThatDied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		long := func(o *Options) { o.Guests, o.Config.Cron = takes(4*time.Minute), "10m" }
		d := &door{Registry: reg}
		time.Sleep(time.Until(time.Now().Truncate(10 * time.Minute).Add(595 * time.Second)))
		s := serveThrough(t, d, &book{}, "10.0.0.1", long)
		time.Sleep(8 * time.Second)
		again := serve(t, reg, rows, "10.0.0.1", long)
		must(t, d.kill())
		time.Sleep(time.Second)
		s.now()
		<-s.done
		time.Sleep(30 * time.Second)
		again.stop(t)
		n := 0
		for _, r := range rows.sorted() {
			if r.State != trace.TakenOver {
				continue
			}
			if n++; r.Reason.Code != "server_gone" || r.End != 0 || r.Start == 0 {
				t.Errorf("row %+v, want one without an end, of a server that is gone", r)
			}
		}
		if n == 0 {
			t.Error("nothing was taken over")
		}
		must(t, reg.Close())
	})
}
