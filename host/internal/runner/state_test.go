package runner

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// counts is a guest that increments a number in its item's state.
func counts(ctx context.Context, c job.Call) job.Outcome {
	values, err := c.State.Load(ctx)
	if err == nil {
		n, _ := strconv.Atoi(string(values["n"]))
		values["n"] = []byte(strconv.Itoa(n + 1))
		err = c.State.Save(ctx, values)
	}
	if err != nil {
		return job.Outcome{Verdict: job.Failure, Error: err.Error()}
	}
	return job.Outcome{Verdict: job.OK, Result: values["n"]}
}

func withState(o *Options) { o.Config.Allow.State = true }

func TestStateIsTheItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		guests := func(o *Options) { withState(o); o.Guests = guestFunc(counts) }
		a := serve(t, reg, rows, "10.0.0.1", guests)
		time.Sleep(25 * time.Second)
		b := serve(t, reg, rows, "10.0.0.2", guests)
		time.Sleep(20 * time.Second)
		a.stop(t)
		time.Sleep(20 * time.Second)
		b.stop(t)
		last := map[int]string{}
		for _, r := range rows.sorted() {
			if r.State != trace.Succeeded {
				t.Errorf("row %+v", r)
			}
			last[r.Item] = r.Result
		}
		runs := len(rows.sorted()) / len(last)
		for item, n := range last {
			if n != strconv.Itoa(runs) {
				t.Errorf("item %d counted %s of %d runs", item, n, runs)
			}
		}
		must(t, reg.Close())
	})
}

// An item is taken over while the guest of the dead member still runs. A save by that
// guest must not reach later runs.
func TestLateSaveAfterATakeover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		taken, late := make(chan struct{}), make(chan error, 1)
		var first, second atomic.Bool
		config := func(o *Options) {
			withState(o)
			o.Config.Shards, o.Config.OnRegistryLoss = 1, job.FinishOnLoss
		}
		a := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			config(o)
			o.Guests = guestFunc(func(ctx context.Context, c job.Call) job.Outcome {
				if first.CompareAndSwap(false, true) {
					values, err := c.State.Load(ctx)
					if err != nil {
						t.Error(err)
					}
					<-taken
					values["n"] = []byte("100")
					late <- c.State.Save(context.WithoutCancel(ctx), values)
					return job.Outcome{Verdict: job.Failure}
				}
				return counts(ctx, c)
			})
		})
		time.Sleep(15 * time.Second) // it has run since second 10
		b := serve(t, reg, rows, "10.0.0.2", func(o *Options) {
			config(o)
			o.Guests = guestFunc(func(ctx context.Context, c job.Call) job.Outcome {
				out := counts(ctx, c)
				if second.CompareAndSwap(false, true) {
					close(taken)
				}
				return out
			})
		})
		time.Sleep(time.Second)
		must(t, a.kill())
		if err := <-late; !errors.Is(err, ErrMoved) {
			t.Errorf("the late save: %v", err)
		}
		time.Sleep(30 * time.Second)
		a.stop(t)
		b.stop(t)
		good := 0
		for _, r := range rows.sorted() {
			if r.State != trace.Succeeded {
				continue
			}
			if good++; r.Result != strconv.Itoa(good) {
				t.Errorf("run %d counted %s", good, r.Result)
			}
		}
		if good < 3 {
			t.Errorf("%d good runs: %+v", good, rows.sorted())
		}
		must(t, reg.Close())
	})
}

// A save is also refused if the session goes on but the member's record is gone, and if
// another process has written the state.
func TestSaveIsFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		session, err := reg.Open(t.Context(), func(registry.Event) {})
		must(t, err)
		stale := make(chan *itemState, 1)
		s := serve(t, reg, &book{}, "10.0.0.1", func(o *Options) {
			withState(o)
			l := o.Layout
			o.Config.Shards = 1
			o.Guests = guestFunc(func(ctx context.Context, c job.Call) job.Outcome {
				late := &itemState{layout: l, session: session, self: c.Instance, item: 0}
				if _, err := late.Load(ctx); err != nil {
					t.Error(err)
				}
				stale <- late
				return counts(ctx, c)
			})
		})
		late := <-stale
		synctest.Wait()
		if err := late.Save(t.Context(), map[string][]byte{"n": []byte("100")}); !errors.Is(err, ErrMoved) {
			t.Errorf("a save over a newer state: %v", err)
		}
		s.stop(t)
		if values, err := late.Load(t.Context()); err != nil || string(values["n"]) != "1" {
			t.Errorf("the state is %q, %v", values, err)
		}
		if err := late.Save(t.Context(), map[string][]byte{"n": []byte("100")}); !errors.Is(err, ErrMoved) {
			t.Errorf("a save without a record: %v", err)
		}
		must(t, session.Close())
		if err := late.Save(t.Context(), nil); !errors.Is(err, ErrMoved) {
			t.Errorf("a save of an ended session: %v", err)
		}
		must(t, reg.Close())
	})
}

// fickle is a session whose commits get no answer.
type fickle struct {
	registry.Session
	applied bool
}

func (f fickle) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if f.applied {
		if _, err := f.Session.Commit(ctx, ops...); err != nil {
			return registry.Receipt{}, err
		}
	}
	return registry.Receipt{}, registry.ErrUnknown
}

func TestSaveOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	ctx, reg := t.Context(), embedded.Memory()
	session, err := reg.Open(ctx, func(registry.Event) {})
	must(t, err)
	l := layout.NewJob("ns", "job")
	const self = job.InstanceID("10.0.0.1@-@1")
	for _, path := range l.Namespace() {
		_, err := session.Commit(ctx, registry.Op{Kind: registry.Create, Path: path})
		must(t, err)
	}
	for _, m := range []protocol.Mutation{protocol.Setup{}, protocol.Join{ID: self}} {
		_, err := session.Commit(ctx, l.Encode(m, l.NewDecoder(nil).View())...)
		must(t, err)
	}
	sound := &itemState{layout: l, session: session, self: self, item: 3}
	must(t, sound.Save(ctx, map[string][]byte{"a": []byte("1")}))
	must(t, sound.Save(ctx, map[string][]byte{"a": []byte("2")}))
	lucky := &itemState{layout: l, session: fickle{session, true}, self: self, item: 3}
	must(t, lucky.Save(ctx, map[string][]byte{"a": []byte("3")}))
	must(t, lucky.Save(ctx, map[string][]byte{"a": []byte("4")}))
	lost := &itemState{layout: l, session: fickle{session, false}, self: self, item: 3}
	if err := lost.Save(ctx, map[string][]byte{"a": []byte("5")}); err == nil || errors.Is(err, ErrMoved) {
		t.Errorf("a save that was lost: %v", err)
	}
	if values, err := lost.Load(ctx); err != nil || string(values["a"]) != "4" {
		t.Errorf("the state is %q, %v", values, err)
	}
	if err := sound.Save(ctx, map[string][]byte{"a": make([]byte, job.MaxState)}); err == nil {
		t.Error("too large a state was saved")
	}
	must(t, errors.Join(session.Close(), reg.Close()))
}

// In layout 1 one key of the state is the offset that ElasticJob keeps.
func TestOffsetOfLayout1(t *testing.T) {
	t.Parallel()
	ctx, reg := t.Context(), embedded.Memory()
	session, err := reg.Open(ctx, func(registry.Event) {})
	must(t, err)
	l := layout.New(job.Layout1, "ns", "job")
	const self = job.InstanceID("10.0.0.1@-@1")
	above, offset := l.OffsetOf(3)
	ops := []registry.Op{{Kind: registry.Create, Path: "/ns"}}
	ops = append(ops, l.Encode(protocol.Setup{}, l.NewDecoder(nil).View())...)
	ops = append(ops, l.Encode(protocol.Join{ID: self}, l.NewDecoder(nil).View())...)
	ops = append(ops, registry.Op{Kind: registry.Create, Path: above}, registry.Op{Kind: registry.Create, Path: offset, Data: []byte("41")})
	_, err = session.Commit(ctx, ops...)
	must(t, err)
	save := func(s *itemState, item int, values map[string]string, want string) {
		t.Helper()
		all := map[string][]byte{}
		for key, value := range values {
			all[key] = []byte(value)
		}
		must(t, s.Save(ctx, all))
		_, path := l.OffsetOf(item)
		if n, err := session.Read(ctx, path); err != nil || string(n.Data) != want {
			t.Errorf("%v: %s has %q, %v", values, path, n.Data, err)
		}
		loaded, err := (&itemState{layout: l, session: session, self: self, item: item}).Load(ctx)
		if _, has := loaded["offset"]; err != nil || string(loaded["offset"]) != want || has != (want != "") || string(loaded["n"]) != values["n"] {
			t.Errorf("%v: loaded %q, %v", values, loaded, err)
		}
	}
	there := &itemState{layout: l, session: session, self: self, item: 3}
	if values, err := there.Load(ctx); err != nil || string(values["offset"]) != "41" {
		t.Errorf("loaded %q, %v", values, err)
	}
	save(there, 3, map[string]string{"offset": "42", "n": "1"}, "42")
	save(there, 3, map[string]string{"n": "2"}, "")
	save(there, 3, map[string]string{"offset": "43"}, "43")
	fresh := &itemState{layout: l, session: session, self: self, item: 4}
	save(fresh, 4, map[string]string{"n": "1"}, "")
	save(fresh, 4, map[string]string{"offset": "7"}, "7")
	lucky := &itemState{layout: l, session: fickle{session, true}, self: self, item: 4}
	save(lucky, 4, map[string]string{"offset": "8"}, "8")
	save(lucky, 4, map[string]string{"offset": "9"}, "9")
	data, err := spelling.EncodeState(map[string][]byte{"offset": []byte("10")}) // by an earlier release
	must(t, err)
	_, path := l.StateOf(4)
	_, err = session.Commit(ctx, registry.Op{Kind: registry.Set, Path: path, Data: data, Version: registry.AnyVersion})
	must(t, err)
	later := &itemState{layout: l, session: session, self: self, item: 4}
	if values, err := later.Load(ctx); err != nil || string(values["offset"]) != "10" {
		t.Errorf("loaded %q, %v", values, err)
	}
	save(later, 4, map[string]string{"offset": "11"}, "11")
	must(t, errors.Join(session.Close(), reg.Close()))
}
