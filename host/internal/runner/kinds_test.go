package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// batches is a streaming job that never runs out of batches. Each takes a second, and it
// asks whether to stop only between batches.
func batches(ctx context.Context, c job.Call) job.Outcome {
	var flow job.Flow
	for {
		if !session.Sleep(ctx, time.Second) {
			return job.Outcome{Verdict: job.Stopped}
		}
		flow.Batches++
		if why := c.Why(); why != job.Continue {
			return job.Outcome{Verdict: job.OK, Code: int32(why), Flow: flow}
		}
	}
}

func streaming(o *Options) {
	o.Config.Kind, o.Config.Streaming, o.Config.Cron, o.Config.Shards = job.Dataflow, true, "", 1
	o.Guests = guestFunc(batches)
}

// ends waits for the end of the only guest, which must have begun.
func ends(t *testing.T, s *server) Event {
	t.Helper()
	for e := range s.events {
		if e.Kind == End {
			return e
		}
	}
	return Event{}
}

func TestStreamingJobStopsBetweenBatches(t *testing.T) {
	t.Parallel()
	ask := func(a protocol.Ask) func(*testing.T, *server) {
		return func(t *testing.T, s *server) {
			t.Helper()
			must(t, s.Ask(t.Context(), a))
		}
	}
	tests := map[string]struct {
		do   func(*testing.T, *server)
		want job.StopReason
	}{
		"paused":          {ask(protocol.AskPause{Paused: true}), job.StopDisabled},
		"item disabled":   {ask(protocol.AskItem{Item: 0, Disabled: true}), job.StopDisabled},
		"server disabled": {ask(protocol.AskServer{IP: "10.0.0.1", Disabled: true}), job.StopDisabled},
		"switched off": {func(t *testing.T, s *server) {
			t.Helper()
			v := s.snapshot.Load().view
			data := strings.Replace(v.Definition.Config.String(), `"streamingProcess":true`, `"streamingProcess":false`, 1)
			ask(protocol.AskConfig{Config: spelling.Text([]byte(data)), Have: v.ConfigVersion})(t, s)
		}, job.StopDisabled},
		"server stops": {func(_ *testing.T, s *server) { s.cancel() }, job.StopResharding},
		"another total": {func(t *testing.T, s *server) {
			t.Helper()
			v := s.snapshot.Load().view
			data := strings.Replace(v.Definition.Config.String(), `"shardingTotalCount":1`, `"shardingTotalCount":2`, 1)
			ask(protocol.AskConfig{Config: spelling.Text([]byte(data)), Have: v.ConfigVersion})(t, s)
		}, job.StopResharding},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows := embedded.Memory(), &book{}
				var assigning atomic.Bool
				s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
					streaming(o)
					o.Assigner = assignFunc(func(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error) {
						// The mark stays in place while a strategy is working.
						if assigning.Swap(true) {
							session.Sleep(ctx, 3*time.Second)
						}
						return assignAverage{}.Assign(ctx, c, r)
					})
				})
				<-s.Joined()
				synctest.Wait()
				must(t, s.Ask(t.Context(), protocol.AskTrigger{}))
				time.Sleep(3500 * time.Millisecond)
				tt.do(t, s)
				e := ends(t, s)
				if e.State != trace.Succeeded || job.StopReason(e.Outcome.Code) != tt.want || e.Outcome.Flow.Batches != 4 {
					t.Errorf("ended as %s for reason %d after %d batches", e.State, e.Outcome.Code, e.Outcome.Flow.Batches)
				}
				s.stop(t)
				must(t, reg.Close())
			})
		})
	}
}

// A request to streaming jobs has no effect on other jobs.
func TestOtherJobsAreNotAskedToPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Config.Kind, o.Config.Cron, o.Config.Shards = job.Dataflow, "", 1
			o.Guests = guestFunc(func(ctx context.Context, c job.Call) job.Outcome {
				session.Sleep(ctx, 5*time.Second)
				return job.Outcome{Verdict: job.OK, Code: int32(c.Why())}
			})
		})
		<-s.Joined()
		synctest.Wait()
		must(t, s.Ask(t.Context(), protocol.AskTrigger{}))
		time.Sleep(time.Second)
		must(t, s.Ask(t.Context(), protocol.AskPause{Paused: true}))
		if e := ends(t, s); e.Outcome.Code != 0 {
			t.Errorf("it was told %d", e.Outcome.Code)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}

type assignFunc func(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error)

func (f assignFunc) Assign(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error) {
	return f(ctx, c, r)
}

// A failing strategy is reported until it works, even if another assigns meanwhile.
func TestStrategyThatFails(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			reg, rows := embedded.Memory(), &book{}
			var broken atomic.Bool
			broken.Store(true)
			var labels atomic.Pointer[[]map[string]string]
			s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
				o.Labels = map[string]string{"zone": "a"}
				o.Config.Param = "of the job"
				o.Assigner = assignFunc(func(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error) {
					labels.Store(&r.Labels)
					items, err := assignAverage{}.Assign(ctx, c, r)
					switch {
					case c.Param != "of the job":
						t.Errorf("asked for %+v", c)
					case !broken.Load():
						return items, err
					case keep:
						return nil, errors.New("out of fuel")
					}
					return items, errors.New("out of fuel")
				})
			})
			<-s.Joined()
			time.Sleep(5 * time.Second)
			trouble := s.Status().Troubles
			if len(trouble) != 1 || !strings.HasPrefix(trouble[0].String(), "strategy: it failed, so items") || !strings.HasSuffix(trouble[0].String(), "out of fuel") {
				t.Errorf("keep %v: troubles %q", keep, trouble)
			}
			if e := <-s.events; e.Kind != StrategyFault || "strategy: "+e.Reason.String() != trouble[0].String() || e.Config.Name != testJob || e.Instance == "" {
				t.Errorf("keep %v: event %+v", keep, e)
			}
			owned := func() bool {
				return len(s.Status().Items) == 4 && !slices.ContainsFunc(s.Status().Items, func(i job.ItemStatus) bool { return i.Owner == "" })
			}
			if owned() == keep {
				t.Errorf("keep %v: items %+v", keep, s.Status().Items)
			}
			broken.Store(false)
			if !keep {
				must(t, s.Ask(t.Context(), protocol.AskReshard{}))
			}
			time.Sleep(time.Minute)
			if trouble := s.Status().Troubles; len(trouble) != 0 || !owned() {
				t.Errorf("keep %v: troubles %q, items %+v", keep, trouble, s.Status().Items)
			}
			if l := *labels.Load(); len(l) != 1 || l[0]["zone"] != "a" {
				t.Errorf("labels %v", l)
			}
			s.stop(t)
			must(t, reg.Close())
		})
	}
}
