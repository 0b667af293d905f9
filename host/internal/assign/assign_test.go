package assign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/strategy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func question() protocol.AssignRequest {
	return protocol.AssignRequest{
		Strategy: "odevity", Total: 4, Instances: []job.InstanceID{"b@-@1", "a@-@1"},
		Labels:   []map[string]string{nil, {"zone": "eu"}},
		Previous: [][]int{{1}, {0, 3, 7}}, // of a larger total
	}
}

func TestWhatAStrategysModuleIsAsked(t *testing.T) {
	t.Parallel()
	var work sync.WaitGroup
	var got job.ShardCall
	a := &Assigner{Namespace: "n", Log: slog.New(slog.DiscardHandler), Work: &work, Module: func(_ context.Context, c job.ShardCall) ([]int, error) {
		got = c
		return []int{1, 1, 0, 1}, nil
	}}
	items, err := a.Assign(t.Context(), job.Config{Name: "j", Param: "p", StrategyModule: "m"}, question())
	if err != nil || fmt.Sprint(items) != "[[2] [0 1 3]]" {
		t.Errorf("%v, %v", items, err)
	}
	if fmt.Sprint(got.Previous) != "[1 0 -1 1]" || got.Total != 4 || got.Namespace != "n" || got.Config.Param != "p" || got.Log == nil {
		t.Errorf("asked %+v", got)
	}
	if len(got.Instances) != 2 || got.Instances[0].ID != "b@-@1" || got.Instances[0].Labels != nil || !maps.Equal(got.Instances[1].Labels, map[string]string{"zone": "eu"}) {
		t.Errorf("asked about %+v", got.Instances)
	}
	work.Wait()
}

func TestAStrategysModuleThatFails(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]Module{
		"error":    func(context.Context, job.ShardCall) ([]int, error) { return nil, errors.New("no") },
		"panic":    func(context.Context, job.ShardCall) ([]int, error) { panic("no") },
		"nobody":   func(context.Context, job.ShardCall) ([]int, error) { return []int{0, 0, 0, 2}, nil },
		"negative": func(context.Context, job.ShardCall) ([]int, error) { return []int{0, 0, 0, -1}, nil },
		"few":      func(context.Context, job.ShardCall) ([]int, error) { return []int{0, 0, 0}, nil },
		"many":     func(context.Context, job.ShardCall) ([]int, error) { return []int{0, 0, 0, 0, 0}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var work sync.WaitGroup
			a := &Assigner{Log: slog.New(slog.DiscardHandler), Work: &work, Module: answer}
			c := job.Config{Name: "j", StrategyModule: "m"}
			// The strategy in the registry is for members that do not know modules.
			if items, err := a.Assign(t.Context(), c, question()); err == nil || fmt.Sprint(items) != "[[0 1] [2 3]]" || !strings.HasPrefix(err.Error(), "module m: ") {
				t.Errorf("%v, %v", items, err)
			}
			c.OnStrategyError = job.KeepOld
			if items, err := a.Assign(t.Context(), c, question()); err == nil || items != nil {
				t.Errorf("%v, %v", items, err)
			}
			work.Wait()
		})
	}
}

func TestStrategyThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		forEver := make(chan struct{})
		own := map[string]strategy.Strategy{
			"last": strategy.Func(func(_ context.Context, r strategy.Request) ([][]int, error) {
				items := make([][]int, len(r.Instances))
				for i := range r.Total {
					items[len(items)-1] = append(items[len(items)-1], i)
				}
				return items, nil
			}),
			"error":  strategy.Func(func(context.Context, strategy.Request) ([][]int, error) { return nil, errors.New("no") }),
			"panic":  strategy.Func(func(context.Context, strategy.Request) ([][]int, error) { panic("no") }),
			"wrong":  strategy.Func(func(context.Context, strategy.Request) ([][]int, error) { return [][]int{{0}, {0}}, nil }),
			"hangs":  strategy.Func(func(context.Context, strategy.Request) ([][]int, error) { <-forEver; return nil, nil }),
			"absent": nil,
		}
		var work sync.WaitGroup
		for name := range own {
			a := &Assigner{Strategies: own, Work: &work}
			items, err := a.Assign(t.Context(), job.Config{Name: "j"}, protocol.AssignRequest{Strategy: name, Instances: []job.InstanceID{"b@-@1", "a@-@1"}, Total: 4})
			want := "[[0 1] [2 3]]"
			if name == "last" {
				want = "[[] [0 1 2 3]]"
			}
			if got := fmt.Sprint(items); (err == nil) != (name == "last") || got != want {
				t.Errorf("%s: %s, %v; want %s", name, got, err, want)
			}
		}
		close(forEver)
		work.Wait()
	})
}
